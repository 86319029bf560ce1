"""The studio as an application, and a server for it on the loopback interface."""

import errno
import secrets
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

from everlearn.errors import BadInput, check_range
from everlearn.studio.dependencies import Dependencies
from everlearn.studio.record_index import RecordIndex
from everlearn.studio.routes import memory, models, pages, record_list, records, runs
from everlearn.studio.security import AccessControl, BodyLimits, add_error_handlers

if sys.platform != "win32":
    import resource

HOST = "127.0.0.1"
BACKLOG = 2048
KEEP_ALIVE = 75
"""Seconds before an idle connection is closed; a browser may reuse one for about a minute."""
MAX_OPEN_FILES = 8192
"""Open connections and files; many systems allow 1024 by default."""
SHUTDOWN_TIMEOUT = 1
"""Seconds for pending responses when the server stops."""


@dataclass(frozen=True)
class Endpoint:
    """Where a studio is reached."""

    socket: socket.socket
    token: str

    @property
    def url(self) -> str:
        """The URL to open in a browser."""
        return f"http://{HOST}:{self.socket.getsockname()[1]}/?token={self.token}"


def listen(port: int = 0) -> Endpoint:
    """Listen on a port of the loopback interface; 0 selects a free one."""
    check_range("port", port, 0, 65535)
    # asyncio disables Nagle's algorithm only if the protocol is given; otherwise responses wait 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = "is in use" if error.errno == errno.EADDRINUSE else "needs other permissions"
        raise BadInput(f"port {port} {reason}; omit --port to use a free one") from None
    return Endpoint(listener, secrets.token_urlsafe(18))


def serve(folder: Path, endpoint: Endpoint) -> None:
    """Serve a folder of records until Ctrl-C or SIGTERM."""
    app = create_app(folder, endpoint.token)
    _raise_file_limit()
    threading.Thread(target=app.state.dependencies.warm_up, daemon=True).start()
    Server(app).run(sockets=[endpoint.socket])


def create_app(folder: Path, token: str) -> FastAPI:
    """The application for a folder of records; requests must contain the token, except for static pages."""
    if not folder.is_dir():
        raise BadInput(f"there is no folder {str(folder)!r}; create it, or select another with --records")
    if not token.isascii() or not token.isprintable() or not token:
        raise BadInput("the token must consist of printable ASCII characters")
    app = FastAPI(
        docs_url=None,  # the documentation pages of FastAPI load scripts from a CDN
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_close_decoder,
        middleware=[Middleware(AccessControl, token=token, is_public=pages.is_page), Middleware(BodyLimits)],
    )
    app.state.dependencies = Dependencies(RecordIndex(folder))
    add_error_handlers(app)
    for module in (pages, records, runs, memory, models, record_list):
        app.router.routes.extend(module.router.routes)  # `include_router` would hide them from `app.routes`
    return app


@asynccontextmanager
async def _close_decoder(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.dependencies.decoder.close()


def _raise_file_limit() -> None:
    """Raise the limit on open files, which Windows lacks, so that idle connections do not block new ones."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class Server(uvicorn.Server):
    """A server that ends event streams before it waits for pending responses."""

    def __init__(self, app: FastAPI) -> None:
        self._dependencies: Dependencies = app.state.dependencies
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                ws="none",
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        self._dependencies.is_closing = True
        await super().shutdown(sockets)
