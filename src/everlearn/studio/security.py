"""How the studio says no: one sentence, and the code that fits it."""

import asyncio
import re
import secrets
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everlearn.errors import BadInput

LOOPBACK = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
TOKEN_HEADER = b"x-everlearn-token"
READING = ("GET", "HEAD")
OWN_SITES = (b"same-origin", b"none")
"""What a browser says of a request that our own page, or the person at the address bar, made."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

Headers = Iterable[tuple[bytes, bytes]]


class Guard:
    """Refuses whatever does not come from this machine's own page, or does not know the token.

    The pages themselves hold nothing secret and are open; everything else wants the token, in a header or,
    for reading, in the address, because images and event streams cannot send headers.

    Args:
        app: what is guarded.
        token: what whoever asks must know.
        is_open: whether a path is that of a page.
    """

    def __init__(self, app: ASGIApp, *, token: str, is_open: Callable[[str], bool]) -> None:
        self._app, self._token, self._is_open = app, token.encode(), is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the app answer, with headers that keep a browser from doing more than it should."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket that is never accepted is a refused one

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        problem = self._problem(scope)
        answer = self._app if problem is None else JSONResponse({"error": problem}, 403)
        await answer(scope, receive, send_guarded)

    def _problem(self, scope: Scope) -> str | None:
        """Why a request is refused, in a sentence; None if it is not."""
        hosts = _values(scope["headers"], b"host")
        if len(hosts) != 1 or not LOOPBACK.fullmatch(hosts[0]):
            return "the studio answers only under localhost or 127.0.0.1; open the address it printed"
        if not _is_own_page(scope["headers"], hosts[0]):
            return "another web page asked for this; the studio answers only its own"
        is_reading = scope["method"] in READING
        if is_reading and self._is_open(scope["path"]):
            return None
        if not self._knows_token(scope, is_reading):
            return "the token is missing or wrong; open the address that `everlearn studio` printed"
        return None

    def _knows_token(self, scope: Scope, is_reading: bool) -> bool:
        given = _values(scope["headers"], TOKEN_HEADER)
        if not given and is_reading:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            given = [each.encode("latin-1", "replace") for each in query.get("token", [])]
        return len(given) == 1 and secrets.compare_digest(given[0], self._token)


def _is_own_page(headers: Headers, host: bytes) -> bool:
    origins, sites = _values(headers, b"origin"), _values(headers, b"sec-fetch-site")
    return all(origin == b"http://" + host for origin in origins) and all(site in OWN_SITES for site in sites)


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


MAX_BYTES = 10_000_000
"""The largest body: an image file."""
PATIENCE = 10.0
"""Seconds in which a body must have arrived."""


class TooMuch(Exception):
    """The body is larger than any that is expected."""


class BoundedBodies:
    """Reads the whole body before the app sees it, and gives up on one that is too large or too slow.

    Args:
        app: who gets the body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body at hand, or refuse it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(PATIENCE):
                body = await _whole(scope, receive)
        except TooMuch:
            error, code = f"a body may have at most {MAX_BYTES:,} bytes; send something smaller", 413
            await JSONResponse({"error": error}, code, {"connection": "close"})(scope, receive, send)
        except TimeoutError:
            error = f"the body did not arrive within {PATIENCE:g} seconds; try again"
            await JSONResponse({"error": error}, 408, {"connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)


async def _whole(scope: Scope, receive: Receive) -> bytes:
    announced = dict(scope["headers"]).get(b"content-length", b"0")
    if not announced.isdigit() or int(announced[:20]) > MAX_BYTES:
        raise TooMuch
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise TooMuch
        if not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A channel that gives the body at once, and then waits for the other side to leave."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


class NotThere(BadInput):
    """There is nothing of that name."""


class Conflict(BadInput):
    """Somebody else was faster, or is at work there now."""


CODES = {NotThere: 404, Conflict: 409}
"""Complaints with a code of their own; all others are 400."""
NO_WORDS = {404: "there is no such page or route", 405: "this cannot be done to this address"}


def answer_complaints(app: FastAPI) -> None:
    """Let every complaint leave an app as JSON with one sentence under "error"."""

    @app.exception_handler(BadInput)
    def bad_input(request: Request, error: BadInput) -> JSONResponse:
        return _refusal(str(error), CODES.get(type(error), 400))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return _refusal(_sentence(error.errors()[0]), 400)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> JSONResponse:
        return _refusal(NO_WORDS.get(error.status_code, str(error.detail)), error.status_code)

    @app.exception_handler(OSError)
    def broken(request: Request, error: OSError) -> JSONResponse:
        return _refusal(f"the system refused: {error.strerror or error}", 500)


def _refusal(sentence: str, code: int) -> JSONResponse:
    return JSONResponse({"error": " ".join(sentence.split())}, code)


def _sentence(error: dict[str, Any]) -> str:
    name = ".".join(str(part) for part in error["loc"][1:]) or "the body"
    if error["type"] == "missing":
        return f"{name} is missing"
    said = error["msg"][:1].lower() + error["msg"][1:]
    return f"{name} is {error['input']!r:.60}; {said}"
