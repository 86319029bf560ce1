"""One door in front of every route: who may ask, from where, and what a browser may do with the answer."""

import re
import secrets
from collections.abc import Callable, Iterable
from urllib.parse import parse_qs

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    for reading, in the address, because pictures and event streams cannot send headers.

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
