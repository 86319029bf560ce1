"""Requests to a server that may be busy, slow or confused."""

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from email.message import Message
from typing import IO, Any, TypeVar

from everlearn.errors import BadInput, check_range

T = TypeVar("T")

BUSY = (408, 409, 425, 429)
"""Answers besides 5xx that mean: later."""
REFUSED = (401, 403)
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
MAX_BYTES = 10_000_000
QUOTED = 200
"""Characters of a server's own words that a complaint repeats."""


class Post:
    """Sends JSON to one address, not too often, and again if it has to.

    Waits double from attempt to attempt, or are as long as the server asks for. Redirections are not
    followed, and a key travels encrypted or not beyond this machine.

    Args:
        url: where to, with http or https.
        key: the bearer token, if the server wants one.
        timeout: seconds without a word from the server after which an attempt is given up.
        retries: attempts after the first.
        per_minute: the most requests in a minute.
        sleep: how to wait.
        now: what time it is, in seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 60.0,
        retries: int = 6,
        per_minute: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        check_range("timeout", timeout, 1e-3, 3600)
        check_range("retries", retries, 0, 100)
        check_range("per_minute", per_minute, 1e-3, 1e6)
        self.url, self._key = _checked(url, key), key
        self._timeout, self._retries, self._gap = timeout, retries, 60 / per_minute
        self._sleep, self._now, self._next = sleep, now, now()
        self._opener = urllib.request.build_opener(_Stay)

    def __call__(self, body: dict[str, Any], read: Callable[[Any], T]) -> T:
        """What `read` makes of the answer; it raises ValueError for one that makes no sense."""
        data, wait, trouble = json.dumps(body).encode(), FIRST_WAIT, ""
        for attempt in range(self._retries + 1):
            if attempt:
                self._sleep(min(wait, LONGEST_WAIT))
            self._wait_for_turn()
            try:
                return read(self._send(data))
            except _Later as later:
                trouble, wait = str(later), later.wait or 2**attempt * FIRST_WAIT
            except BadInput:
                raise
            except (ValueError, RecursionError):
                trouble, wait = "it answered nonsense", 2**attempt * FIRST_WAIT
        raise BadInput(
            f"{self.url} failed {self._retries + 1} times, at last because {trouble}; try again later"
        )

    def _wait_for_turn(self) -> None:
        early = self._next - self._now()
        if early > 0:
            self._sleep(early)
        self._next = self._now() + self._gap

    def _send(self, data: bytes) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url, data, headers)  # noqa: S310  (the scheme was checked)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                content = response.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Later(f"it cannot be reached ({_words(getattr(error, 'reason', error))})") from None
        if len(content) > MAX_BYTES:
            raise ValueError("too long an answer")
        return json.loads(content)

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        if error.code in BUSY or error.code >= 500:
            return _Later(f"it answered {error.code}", _seconds(error.headers.get("Retry-After")))
        if error.code in REFUSED:
            return BadInput(f"{self.url} does not accept the key (status {error.code}); check the key")
        said = _words(error.read(MAX_BYTES).decode("utf-8", "replace"))
        return BadInput(f"{self.url} refused with status {error.code}: {said}; check address and model")


class _Later(Exception):
    """The server may answer another time, perhaps after so many seconds."""

    def __init__(self, trouble: str, wait: float = 0.0) -> None:
        super().__init__(trouble)
        self.wait = wait


class _Stay(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: what is sent, and the key, are meant for one address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _checked(url: str, key: str | None) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        raise BadInput(f"{url!r:.200} is no address of a server; give one such as https://host/v1")
    if key and parts.scheme == "http" and not _is_here(host):
        raise BadInput(f"the key would travel readable by all to {host}; give an address with https")
    if key and not (key.isascii() and key.isprintable()):
        raise BadInput("the key has characters that no key has; check the variable it is in")
    return url


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _seconds(text: str | None) -> float:
    """What a server asks us to wait; 0 if it does not say so in seconds."""
    return float(text) if text and text.isascii() and text.isdigit() else 0.0


def _words(text: object) -> str:
    """A stranger's words, short and harmless."""
    return "".join(c if c.isprintable() else " " for c in str(text))[:QUOTED].strip() or "no reason given"
