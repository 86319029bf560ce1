"""The studio on this machine's own address."""

import errno
import resource
import secrets
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from everlearn.errors import BadInput, check_range
from everlearn.studio.dependencies import Rooms
from everlearn.studio.processes import Starter
from everlearn.studio.record_index import Shelf
from everlearn.studio.routes import downloads, memory, models, records, runs
from everlearn.studio.security import BoundedBodies, Guard, answer_complaints


def create_app(folder: Path, token: str) -> FastAPI:
    """The application over a folder of records, for whoever knows the token.

    Args:
        folder: holds the records; it must exist.
        token: what every request but those for the pages themselves must bring.
    """
    if not folder.is_dir():
        raise BadInput(f"there is no folder {str(folder)!r}; make it, or name another with --records")
    if not token.isascii() or not token.isprintable() or not token:
        raise BadInput("the token must be some plain letters and digits")
    app = FastAPI(
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a name with a slash too many is a wrong name
        lifespan=_life,
        middleware=[Middleware(Guard, token=token, is_open=downloads.is_page), Middleware(BoundedBodies)],
    )
    shelf = Shelf(folder)
    app.state.rooms = Rooms(shelf, Starter(shelf.root))
    answer_complaints(app)
    for router in (
        downloads.pages_router,
        models.sprites_router,
        records.router,
        downloads.router,
        runs.router,
        memory.router,
        models.recognition_router,
        models.router,
    ):
        app.router.routes.extend(router.routes)  # plainly, so that `app.routes` lists every route
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.rooms.decoder.close()


HOST = "127.0.0.1"
BACKLOG = 2048
KEEP_ALIVE = 75
"""Seconds that a connection may be idle; shorter, and a browser's next request may meet its end."""
CONNECTIONS = 8192
"""Files and connections that may be open at a time; many systems begin with 1024."""
GRACE = 1
"""Seconds that answers under way may still take when the server is asked to end."""


@dataclass(frozen=True)
class Door:
    """A place where the studio can be reached.

    Attributes:
        listener: the socket that is listened on.
        token: what whoever enters must know.
    """

    listener: socket.socket
    token: str

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.listener.getsockname()[1]}/?token={self.token}"


def open_door(port: int = 0) -> Door:
    """Take a port of this machine that nobody else can reach; any free one if it is 0."""
    check_range("port", port, 0, 65535)
    # Said to be TCP, asyncio sends small answers at once; else each would wait 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        why = "is in use" if error.errno == errno.EADDRINUSE else "may not be used by you"
        raise BadInput(f"port {port} {why}; leave --port out to get a free one") from None
    return Door(listener, secrets.token_urlsafe(18))


def serve(folder: Path, door: Door) -> None:
    """Serve a folder of records until Ctrl-C or SIGTERM."""
    app = create_app(folder, door.token)
    _make_room()
    threading.Thread(target=app.state.rooms.warm_up, daemon=True).start()
    _Server(app).run(sockets=[door.listener])


def _make_room() -> None:
    """Let this process hold many connections, so that those who only wait keep nobody out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wished = CONNECTIONS if hard == resource.RLIM_INFINITY else min(CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wished:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wished, hard))


class _Server(uvicorn.Server):
    """A server that ends what is endless before it waits for what is under way."""

    def __init__(self, app: ASGIApp) -> None:
        self._rooms = app.state.rooms  # type: ignore[attr-defined]  # the state is FastAPI's own
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                ws="none",
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=GRACE,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._rooms.is_closing = True
        await super().shutdown(sockets)
