"""What is sent to us, within bounds of size and time."""

import asyncio

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES = 10_000_000
"""The largest body: a picture file."""
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
