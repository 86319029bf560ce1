"""A vision-language model that is asked over the network."""

import base64
import hashlib
import http.client
import ipaddress
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any, TypeVar

from everlearn import files
from everlearn.errors import BadInput, check_range
from everlearn.evaluation.protocols.multiple_choice import Question
from everlearn.streams.exports.codec import to_png
from everlearn.streams.stream import Images

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


PATH = "/chat/completions"
PROMPT = (
    "You will be shown a query image containing a black and white shape on a gray background. You will then "
    "be shown {n} images, one of which is the same shape as the query image, but rotated, translated, and "
    "scaled. Please select the image that matches the query image. Please only select one image. Please only "
    "output a single number between 0 and {last} (inclusive) indicating your choice."
)
"""The words of Dziadzio et al. 2023, appendix A.3, so that answers can be compared with theirs."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Reply:
    """What a model said, and the tokens it took; None where the server does not count them."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What answers may cost.

    Attributes:
        price_in: price of a million tokens sent.
        price_out: price of a million tokens received.
        limit: no question is asked once this much is spent; None asks on.
    """

    price_in: float = 0.0
    price_out: float = 0.0
    limit: float | None = None

    def __post_init__(self) -> None:
        for name in ("price_in", "price_out"):
            check_range(name, getattr(self, name), 0, 1e9)
        if self.limit is not None:
            check_range("the cost limit", self.limit, 0, 1e9)
            if not self.price_in and not self.price_out:
                raise BadInput("a cost limit needs the price of a million tokens; give it, sent and received")


class Endpoint:
    """Chooses by asking a model behind any address that speaks OpenAI's chat format.

    Every answer is kept as one small file under a name that follows from the question, the address and the
    model: what was answered once is never asked, or paid, again, and a protocol that broke off goes on.

    Args:
        post: how requests are sent; its address ends in /chat/completions.
        model: the model's name.
        answers: the folder of answers; made if it is not there.
        budget: what they may cost.
    """

    def __init__(self, post: Post, *, model: str, answers: Path, budget: Budget | None = None) -> None:
        if not model.strip() or not model.isprintable():
            raise BadInput(f"{model!r:.80} is no model's name; give the one that the endpoint knows")
        self.model, self.budget = model, budget or Budget()
        self.n_asked, self.n_known, self.cost = 0, 0, 0.0
        self._post, self._answers = post, answers

    def __call__(self, question: Question) -> int | None:
        """The number of the model's choice, or None if it named none or several."""
        path = self._answers / f"{self._name(question)}.json"
        if path.is_file():
            self.n_known += 1
            reply = _read_kept(path)
        else:
            reply = self._asked(question)
            files.make_folder(self._answers)
            files.write(path, json.dumps({"model": self.model, **asdict(reply)}, indent=1).encode())
            self._count(reply)
        return chosen(reply.text, len(question.choices))

    def _asked(self, question: Question) -> Reply:
        if self.budget.limit is not None and self.cost >= self.budget.limit:
            raise BadInput(
                f"{self.n_asked} answers have cost {self.cost:.4f}, and the limit is {self.budget.limit}; "
                "they are kept, so raise the limit and ask again to go on"
            )
        return self._post({"model": self.model, "messages": messages(question)}, read_reply)

    def _count(self, reply: Reply) -> None:
        self.n_asked += 1
        if reply.tokens_in is None or reply.tokens_out is None:
            if self.budget.limit is not None:
                raise BadInput("the endpoint does not count tokens, so no cost limit can be kept; give none")
            return
        spent = reply.tokens_in * self.budget.price_in + reply.tokens_out * self.budget.price_out
        self.cost += spent / MILLION

    def _name(self, question: Question) -> str:
        """From pixels, not from files: two versions of a PNG writer ask the same question."""
        about = [self._post.url, self.model, PROMPT, question.query.shape, question.choices.shape]
        digest = hashlib.sha256(json.dumps(about).encode())
        digest.update(question.query.tobytes())
        digest.update(question.choices.tobytes())
        return digest.hexdigest()[:32]


def address(endpoint: str) -> str:
    """Where chat requests go, from the address that servers are known by.

    Example:
        >>> address("http://localhost:8000/v1/")
        'http://localhost:8000/v1/chat/completions'
    """
    base = endpoint.strip().rstrip("/")
    return base if base.endswith(PATH) else base + PATH


def messages(question: Question) -> list[dict[str, Any]]:
    """The instruction, the query and the choices, in a message each as in the paper."""
    n = len(question.choices)
    contents = [
        [{"type": "text", "text": PROMPT.format(n=n, last=n - 1)}],
        [_part(question.query[0])],
        [_part(choice) for choice in question.choices],
    ]
    return [{"role": "user", "content": content} for content in contents]


def chosen(text: str, n_choices: int) -> int | None:
    """The one number a text names, if it is that of a choice.

    Example:
        >>> chosen("3", 5), chosen("It is image 3.", 5), chosen("2 or 3", 5), chosen("7", 5), chosen("", 5)
        (3, 3, None, None, None)
    """
    numbers = {int(number) for number in re.findall(r"[0-9]{1,9}", text)}
    (only,) = numbers if len(numbers) == 1 else (None,)
    return only if only is not None and only < n_choices else None


def read_reply(data: Any) -> Reply:
    """The words and tokens in a chat answer; ValueError if there are none."""
    match data:
        case {"choices": [{"message": {"content": str() | None as text}}, *_]}:
            usage = data.get("usage")
            counts = usage if isinstance(usage, dict) else {}
            tokens = (_number(counts.get(f"{part}_tokens")) for part in ("prompt", "completion"))
            return Reply(text or "", *tokens)
    raise ValueError("no chat answer")


def _number(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _part(image: Images) -> dict[str, Any]:
    data = base64.b64encode(to_png(image)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def _read_kept(path: Path) -> Reply:
    try:
        kept = json.loads(path.read_bytes())
        return Reply(str(kept["text"]), kept["tokens_in"], kept["tokens_out"])
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{path} holds no answer of a model; take it away and ask again") from None
