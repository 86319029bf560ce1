"""The application of the studio, and its servers: on the loopback interface and, optionally, for a phone."""

import errno
import ipaddress
import secrets
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

from everlearn.errors import BadInput, check_range
from everlearn.studio.dependencies import Dependencies
from everlearn.studio.record_index import RecordIndex
from everlearn.studio.routes import memory, models, pages, record_list, records, runs
from everlearn.studio.security import (
    AccessControl,
    BodyLimits,
    add_error_handlers,
    local_access,
    phone_access,
)

if TYPE_CHECKING:
    from everlearn.studio.certificate import Address, Certificate
if sys.platform != "win32":
    import resource

HOST = "127.0.0.1"
HTTPS_PORT = 443
BACKLOG = 2048
KEEP_ALIVE = 75
"""Seconds before an idle connection is closed; a browser may reuse one for about a minute."""
MAX_OPEN_FILES = 8192
"""Open connections and files; many systems allow 1024 by default."""
SHUTDOWN_TIMEOUT = 1
"""Seconds for pending responses when the server stops."""


@dataclass(frozen=True)
class Endpoint:
    """Address and token of a studio."""

    socket: socket.socket
    token: str
    certificate: "Certificate | None" = None  # that of HTTPS; None for HTTP

    @property
    def host(self) -> str:
        """The address and the port, as browsers send them."""
        address, port = self.socket.getsockname()[:2]
        name = f"[{address}]" if ":" in address else address
        return name if self.certificate and port == HTTPS_PORT else f"{name}:{port}"

    @property
    def url(self) -> str:
        """The URL to open in a browser."""
        return f"http{'s' if self.certificate else ''}://{self.host}/?token={self.token}"


def listen(port: int = 0) -> Endpoint:
    """Listen on a port of the loopback interface; 0 selects a free one."""
    return Endpoint(_listener(ipaddress.ip_address(HOST), port), secrets.token_urlsafe(18))


def listen_for_phone(host: str, port: int = 0) -> Endpoint:
    """Listen on an address of this machine in its network, with a certificate for HTTPS."""
    from everlearn.studio.certificate import own_certificate

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise _bad_host(host, "is no IP address") from None
    if address.is_unspecified or address.is_multicast or "%" in host:
        raise _bad_host(host, "is not one address that a browser can open")
    listener = _listener(address, port)
    return Endpoint(listener, secrets.token_urlsafe(18), own_certificate(address))


def _listener(address: "Address", port: int) -> socket.socket:
    check_range("port", port, 0, 65535)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    # asyncio disables Nagle's algorithm only if the protocol is given; otherwise responses wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((str(address), port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise _bad_host(str(address), "is not an address of this machine") from None
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = "is in use" if error.errno == errno.EADDRINUSE else "needs other permissions"
        raise BadInput(f"port {port} {reason}; omit --port to use a free one") from None
    return listener


def _bad_host(host: str, problem: str) -> BadInput:
    interfaces = psutil.net_if_addrs().values()
    found = [each.address for one in interfaces for each in one if each.family == socket.AF_INET]
    known = ", ".join(address for address in found if not address.startswith("127.")) or "none but loopback"
    return BadInput(f"--host {host!r:.60} {problem}; try an address of this machine: {known}")


def serve(folder: Path, endpoint: Endpoint, phone: Endpoint | None = None) -> None:
    """Serve a folder of records until Ctrl-C or SIGTERM; the page "Try it" also to a phone."""
    app = create_app(folder, endpoint.token, phone)
    _raise_file_limit()
    threading.Thread(target=app.state.dependencies.warm_up, daemon=True).start()
    with _serve_phone(app, phone):
        Server(app).run(sockets=[endpoint.socket])


@contextmanager
def _serve_phone(app: FastAPI, phone: Endpoint | None) -> Iterator[None]:
    """Serve a phone in a thread of its own: a server of uvicorn speaks either HTTP or HTTPS."""
    if phone is None:
        yield
        return
    server = Server(app, phone.certificate)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [phone.socket]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def create_app(folder: Path, token: str, phone: Endpoint | None = None) -> FastAPI:
    """The application for a folder of records; requests must contain the token, except for static pages."""
    if not folder.is_dir():
        raise BadInput(f"there is no folder {str(folder)!r}; create it, or select another with --records")
    if not token.isascii() or not token.isprintable() or not token:
        raise BadInput("the token must consist of printable ASCII characters")
    access = {"http": local_access(token)}
    if phone is not None:
        access["https"] = phone_access(phone.token, phone.host)
    app = FastAPI(
        docs_url=None,  # the documentation pages of FastAPI load scripts from a CDN
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_close_decoder,
        middleware=[
            Middleware(AccessControl, access=access, is_public=pages.is_page),
            Middleware(BodyLimits),
        ],
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

    def __init__(self, app: FastAPI, certificate: "Certificate | None" = None) -> None:
        self._dependencies: Dependencies = app.state.dependencies
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                ws="none",
                proxy_headers=False,  # rights depend on the scheme, which no header may change
                ssl_certfile=certificate.path if certificate else None,
                lifespan="off" if certificate else "on",  # that of the application, not of each server
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        self._dependencies.is_closing = True
        await super().shutdown(sockets)
