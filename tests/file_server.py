"""A local HTTP server with ranges, which can break connections."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class FileServer:
    """Serves `files` by path.

    Each request takes one of `faults` while there are any: a number of bytes after which the connection is
    closed, "no range" (the whole file, whatever is asked), "wrong range", or "busy" (status 503).
    """

    files: dict[str, bytes]
    faults: list[int | str] = field(default_factory=list)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve(files: dict[str, bytes]) -> Iterator[FileServer]:
    server = FileServer(files)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            server.requests.append((self.path, asked))
            fault = server.faults.pop(0) if server.faults else None
            content = server.files.get(self.path)
            if content is None or fault == "busy":
                self.send_error(404 if content is None else 503)
                return
            start = int(found[1]) if (found := re.match(r"bytes=(\d+)-", asked or "")) else 0
            start = 0 if fault == "no range" else start
            if start >= len(content) > 0 and start:
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                first = 0 if fault == "wrong range" else start
                self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = start + fault if isinstance(fault, int) else None
            with suppress(ConnectionError):  # the client may refuse the rest
                self.wfile.write(content[start:end])

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listener.server_port}"
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
