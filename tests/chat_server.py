"""A local server with OpenAI's chat interface that can be made to fail."""

import base64
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

from everlearn.evaluation.protocols.multiple_choice import Question, match_pixels


class ChatServer(ThreadingHTTPServer):
    """Answers by pixel matching, after the configured failures.

    Attributes:
        failures: what happens to the next requests, in order: a status code, or a name.
        requests: headers and bodies of all requests.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.failures: list[int | str] = []
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.free = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((dict(self.headers), body))
        failure = self.server.failures.pop(0) if self.server.failures else ""
        if self.path != "/v1/chat/completions":
            self._send(404, b'{"error": "no such path"}')
        elif isinstance(failure, int):
            self._send(failure, b'{"error": {"message": "failure\x1b[31m"}}', failure == 429)
        elif failure == "silent":
            self.server.free.wait(30)
        elif failure == "hang up":
            self.close_connection = True
        else:
            self._send(200, _FAILURES.get(failure) or _answer(body, failure))

    def _send(self, status: int, content: bytes, busy: bool = False) -> None:
        self.send_response(status)
        if busy:
            self.send_header("Retry-After", "7")
        if 300 <= status < 400:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """No log."""


_FAILURES = {
    "garbage": b"\xff\x00 not JSON",
    "other JSON": b'{"choices": []}',
    "deep": b"[" * 100_000,
}


def _answer(body: dict[str, Any], failure: str) -> bytes:
    instruction, query, choices = (message["content"] for message in body["messages"])
    images = [_image(part) for part in (*query, *choices)]
    assert f"shown {len(choices)} images" in instruction[0]["text"]
    text = f"{match_pixels(Question(images[0][None], np.stack(images[1:]), -1))}"
    content = {"undecided": "0 or 1", "talkative": f"I choose {text}.", "mute": None}.get(failure, text)
    usage = {} if failure == "uncounted" else {"prompt_tokens": 1000, "completion_tokens": 10}
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": usage}
    ).encode()


def _image(part: dict[str, Any]) -> Any:
    kind, _, data = part["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        return np.array(image)


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.free.set()
            server.shutdown()
            thread.join()
