"""Access control, limits on request bodies, and error responses."""

import asyncio
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everlearn.errors import BadInput

LOOPBACK_HOST = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
TOKEN_HEADER = b"x-everlearn-token"
SAFE_METHODS = ("GET", "HEAD")
OWN_SITES = (b"same-origin", b"none")
"""Values of Sec-Fetch-Site for requests of our own pages and of the address bar."""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
MAX_BODY_BYTES = 10_000_000
BODY_TIMEOUT = 10.0
"""Seconds in which the whole body of a request must be received."""

Headers = Iterable[tuple[bytes, bytes]]


PHONE_ROUTES = frozenset(
    {
        ("GET", "/api/memory/records"),
        ("GET", "/api/memory"),
        ("GET", "/api/memory/image.png"),
        ("POST", "/api/memory/add"),
        ("POST", "/api/memory/forget"),
        ("POST", "/api/recognition"),
        ("POST", "/api/decode"),
    }
)
"""Routes of a phone, besides static pages: recognize, add and forget, all without saving."""


@dataclass(frozen=True)
class Access:
    """The token and host that requests must have, and the routes that they may use."""

    token: str
    hosts: re.Pattern[bytes]  # allowed values of the header Host
    routes: frozenset[tuple[str, str]] | None = None  # methods and paths; None allows all


def local_access(token: str) -> Access:
    """All routes, for the user of this machine."""
    return Access(token, LOOPBACK_HOST)


def phone_access(token: str, host: str) -> Access:
    """The routes of the page "Try it", for a phone that opened exactly this host."""
    return Access(token, re.compile(re.escape(host.encode()), re.IGNORECASE), PHONE_ROUTES)


class AccessControl:
    """Middleware that rejects requests from other sites, without the token, or without the right to a route.

    HTTP is for the user of this machine, HTTPS for a phone; each has its own token and routes. Static pages
    are public. All other requests need the token in a header or, for safe methods, in the URL, because images
    and event streams cannot send headers.
    """

    def __init__(
        self, app: ASGIApp, *, access: Mapping[str, Access], is_public: Callable[[str], bool]
    ) -> None:
        self._app, self._access, self._is_public = app, access, is_public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or answer 403; add security headers to either response."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # returning without accepting a web socket rejects it

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
            await send(message)

        problem = self._problem(scope)
        response = self._app if problem is None else JSONResponse({"error": problem}, 403)
        await response(scope, receive, send_with_headers)

    def _problem(self, scope: Scope) -> str | None:
        """Why a request is rejected; None if it is allowed."""
        access, hosts = self._access[scope["scheme"]], _values(scope["headers"], b"host")
        if len(hosts) != 1 or not access.hosts.fullmatch(hosts[0]):
            return "the host is not that of the studio; open the address that `everlearn studio` printed"
        if not _is_same_site(scope["headers"], f"{scope['scheme']}://".encode() + hosts[0]):
            return "requests from other web sites are not allowed"
        is_safe = scope["method"] in SAFE_METHODS
        if is_safe and self._is_public(scope["path"]):
            return None
        if not _has_token(scope, is_safe, access.token.encode()):
            return "the token is missing or wrong; open the address that `everlearn studio` printed"
        if access.routes is not None and (scope["method"], scope["path"]) not in access.routes:
            return "a phone may only ask, teach and forget; do this on the computer that runs the studio"
        return None


def _has_token(scope: Scope, is_safe: bool, token: bytes) -> bool:
    tokens = _values(scope["headers"], TOKEN_HEADER)
    if not tokens and is_safe:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        tokens = [each.encode("latin-1", "replace") for each in query.get("token", [])]
    return len(tokens) == 1 and secrets.compare_digest(tokens[0], token)


def _is_same_site(headers: Headers, own: bytes) -> bool:
    origins, sites = _values(headers, b"origin"), _values(headers, b"sec-fetch-site")
    return all(origin == own for origin in origins) and all(site in OWN_SITES for site in sites)


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


class BodyTooLarge(Exception):
    """The body exceeds `MAX_BODY_BYTES`."""


class BodyLimits:
    """Middleware that reads the whole body first and rejects one that is too large or too slow."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its buffered body, or answer 408 or 413."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await _read_body(scope, receive)
        except BodyTooLarge:
            error, code = f"the body has more than {MAX_BODY_BYTES:,} bytes; send less", 413
        except TimeoutError:
            error, code = f"the body was not received within {BODY_TIMEOUT:g} seconds; try again", 408
        else:
            await self._app(scope, _buffered(body, receive), send)
            return
        await JSONResponse({"error": error}, code, {"connection": "close"})(scope, receive, send)


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if not length.isdigit() or int(length[:20]) > MAX_BODY_BYTES:
        raise BodyTooLarge
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(body)


def _buffered(body: bytes, receive: Receive) -> Receive:
    """A channel that yields the body as one message and then waits for the client to disconnect."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_buffered() -> Message:
        return messages.pop() if messages else await receive()

    return receive_buffered


class NotFound(BadInput):
    """The named object does not exist."""


class Conflict(BadInput):
    """The request contradicts a concurrent change or the state of the run."""


class FieldError(BadInput):
    """Invalid input in one field of a form."""

    def __init__(self, message: str, field: str | None) -> None:
        super().__init__(message)
        self.field = field  # its key; None if no single field is at fault


STATUS_CODES = {NotFound: 404, Conflict: 409}
"""Status codes of errors; 400 for all others."""
HTTP_MESSAGES = {404: "there is no such page or route", 405: "this route does not support this method"}


def add_error_handlers(app: FastAPI) -> None:
    """Answer errors with JSON: one sentence under "error"."""

    @app.exception_handler(BadInput)
    def bad_input(request: Request, error: BadInput) -> JSONResponse:
        field = {"field": error.field} if isinstance(error, FieldError) and error.field else {}
        return _error_response(str(error), STATUS_CODES.get(type(error), 400), **field)

    @app.exception_handler(RequestValidationError)
    def invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        return _error_response(_validation_message(error.errors()[0]), 400)

    @app.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> JSONResponse:
        return _error_response(HTTP_MESSAGES.get(error.status_code, str(error.detail)), error.status_code)

    @app.exception_handler(OSError)
    def os_error(request: Request, error: OSError) -> JSONResponse:
        return _error_response(f"error of the operating system: {error.strerror or error}", 500)


def _error_response(message: str, code: int, **details: str) -> JSONResponse:
    return JSONResponse({"error": " ".join(message.split()), **details}, code)


def _validation_message(error: dict[str, Any]) -> str:
    name = ".".join(str(part) for part in error["loc"][1:]) or "the body"
    if error["type"] == "missing":
        return f"{name} is missing"
    problem = error["msg"][:1].lower() + error["msg"][1:]
    return f"{name} is {error['input']!r:.60}; {problem}"
