"""Client of a vision-language model behind an OpenAI-compatible endpoint, for multiple-choice questions."""

import base64
import hashlib
import http.client
import ipaddress
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from pydantic import Field, model_validator

from everlearn import files
from everlearn.errors import BadInput
from everlearn.settings import Settings
from everlearn.streams.exports.codec import to_png
from everlearn.streams.stream import Images

if TYPE_CHECKING:
    from everlearn.evaluation.protocols.multiple_choice import Question

Price = Annotated[float, Field(ge=0, le=1e9)]

PATH = "/chat/completions"
PROMPT = (
    "You will be shown a query image containing a black and white shape on a gray background. You will then "
    "be shown {n} images, one of which is the same shape as the query image, but rotated, "
    "translated, and "  # check-words: allow
    "scaled. Please select the image that matches the query image. Please only select one image. Please only "
    "output a single number between 0 and {last} (inclusive) indicating your choice."
)
"""The prompt of Dziadzio et al. 2023, appendix A.3, for comparable results."""
TEMPORARY = (408, 409, 425, 429)
"""Status codes besides 5xx after which a request is sent again."""
UNAUTHORIZED = (401, 403)
FIRST_WAIT, MAX_WAIT = 1.0, 60.0
MAX_BYTES = 10_000_000
MAX_QUOTED = 200
"""Characters of a server's error message that are repeated."""


class VLMOptions(Settings):
    """Connection to a vision-language model, and the limit of its cost."""

    endpoint: str | None = None
    """URL of a model with OpenAI's chat interface, such as http://localhost:8000/v1."""
    model: str | None = None
    """Name of the model at the endpoint."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable with the key; no key is sent if it is not set."""
    answers: Path = Path("answers")
    """Folder of stored answers, which are not requested again."""
    timeout: Annotated[float, Field(ge=1e-3, le=3600)] = 60.0
    """Seconds without data from the server after which a request fails."""
    retries: Annotated[int, Field(ge=0, le=100)] = 6
    """Further attempts after a failed request, with increasing waits."""
    per_minute: Annotated[float, Field(ge=1e-3, le=1e6)] = 60.0
    """Maximum number of requests per minute."""
    max_cost: Annotated[float | None, Field(ge=0, le=1e9)] = None
    """Stop once the answers have cost this much; needs prices."""
    price_in: Price = 0.0
    """Price of a million input tokens."""
    price_out: Price = 0.0
    """Price of a million output tokens."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.endpoint) != bool(self.model):
            raise ValueError("a model needs an endpoint and a name; give both --endpoint and --model")
        if self.model and not (self.model.strip() and self.model.isprintable()):
            raise ValueError(f"{self.model!r:.80} is no model name; give a name that the endpoint knows")
        if self.max_cost is not None and not self.price_in and not self.price_out:
            raise ValueError("max_cost needs the prices of a million tokens; give price_in and price_out")
        if self.answers.exists() and not self.answers.is_dir():
            raise ValueError(f"answers is {str(self.answers)!r}, a file; give a folder")
        return self

    def client(self, sleep: Callable[[float], None] = time.sleep) -> "VLMClient | None":
        """The client; None without an endpoint."""
        if self.endpoint is None:
            return None
        key = os.environ.get(self.key_variable)
        return VLMClient(ChatConnection(chat_url(self.endpoint), self, key, sleep), self)


class Reply(NamedTuple):
    """The reply of a model, and the number of tokens; None if the server does not report it."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None


class VLMClient:
    """Answers multiple-choice questions with a vision-language model.

    Every answer is stored in one file, named after the question, the URL and the model. Stored answers are
    not requested or paid again, so an interrupted evaluation can be continued.
    """

    def __init__(self, connection: "ChatConnection", options: VLMOptions) -> None:
        self.model = str(options.model)
        self.n_requests, self.n_cached = 0, 0  # answers requested, and read from files
        self.cost = 0.0  # price of the requested answers
        self._connection, self._options = connection, options

    def __call__(self, question: "Question") -> int | None:
        """The number of the chosen image; None if the model names none or several."""
        path = self._options.answers / f"{self._name(question)}.json"
        if path.is_file():
            self.n_cached += 1
            reply = _read_answer(path)
        else:
            reply = self._request(question)
            files.make_folder(self._options.answers)
            answer = {"model": self.model, **reply._asdict()}
            files.write(path, json.dumps(answer, indent=1).encode())
            self._add_cost(reply)
        return parse_choice(reply.text, len(question.choices))

    def _request(self, question: "Question") -> Reply:
        max_cost = self._options.max_cost
        if max_cost is not None and self.cost >= max_cost:
            raise BadInput(
                f"{self.n_requests} answers have cost {self.cost:.4f}, and the limit is {max_cost}; they are "
                "stored: raise the limit to continue"
            )
        return self._connection.post({"model": self.model, "messages": chat_messages(question)})

    def _add_cost(self, reply: Reply) -> None:
        self.n_requests += 1
        if reply.tokens_in is None or reply.tokens_out is None:
            if self._options.max_cost is not None:
                raise BadInput("the endpoint does not report tokens; remove the cost limit")
            return
        spent = reply.tokens_in * self._options.price_in + reply.tokens_out * self._options.price_out
        self.cost += spent / 1_000_000

    def _name(self, question: "Question") -> str:
        """A hash of pixels, not of PNG files, which depend on the encoder."""
        key = [self._connection.url, self.model, PROMPT, question.query.shape, question.choices.shape]
        content = json.dumps(key).encode() + question.query.tobytes() + question.choices.tobytes()
        return hashlib.sha256(content).hexdigest()[:32]


def chat_url(endpoint: str) -> str:
    """The URL of chat requests of an endpoint, such as http://localhost:8000/v1/chat/completions."""
    base = endpoint.strip().rstrip("/")
    return base if base.endswith(PATH) else base + PATH


def chat_messages(question: "Question") -> list[dict[str, Any]]:
    """The prompt, the query and the choices, one message each as in the paper."""
    n = len(question.choices)
    contents = [
        [{"type": "text", "text": PROMPT.format(n=n, last=n - 1)}],
        [_image_part(question.query[0])],
        [_image_part(choice) for choice in question.choices],
    ]
    return [{"role": "user", "content": content} for content in contents]


def parse_choice(text: str, n_choices: int) -> int | None:
    """The only number in a text such as "It is image 3.", if it is that of a choice."""
    numbers = {int(number) for number in re.findall(r"[0-9]{1,9}", text)}
    return max(numbers) if len(numbers) == 1 and max(numbers) < n_choices else None


def parse_reply(data: Any) -> Reply:
    """The reply in a chat response; ValueError if there is none."""
    match data:
        case {"choices": [{"message": {"content": str() | None as text}}, *_]}:
            usage = data.get("usage")
            counts = usage if isinstance(usage, dict) else {}
            tokens = (counts.get(f"{part}_tokens") for part in ("prompt", "completion"))
            return Reply(text or "", *(n if type(n) is int and n >= 0 else None for n in tokens))
    raise ValueError("no chat response")


def _image_part(image: Images) -> dict[str, Any]:
    data = base64.b64encode(to_png(image)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def _read_answer(path: Path) -> Reply:
    try:
        stored = json.loads(path.read_bytes())
        return Reply(str(stored["text"]), stored["tokens_in"], stored["tokens_out"])
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{path} holds no answer of a model; delete it and try again") from None


class ChatConnection:
    """Sends chat requests to one URL, with a rate limit and retries.

    Waits double from attempt to attempt, or follow the server's Retry-After. Redirects are not followed. The
    key, a bearer token, is sent over HTTPS or to this machine only. See `VLMOptions` for the limits.
    """

    def __init__(
        self,
        url: str,
        options: VLMOptions,
        key: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        _check_url(url, key)
        self.url, self._key, self._options = url, key, options
        self._sleep, self._now, self._next = sleep, now, now()
        self._opener = urllib.request.build_opener(_NoRedirects)

    def post(self, body: dict[str, Any]) -> Reply:
        """The reply to a request; an invalid response is requested again."""
        data, wait, problem, n_attempts = json.dumps(body).encode(), 0.0, "", self._options.retries + 1
        for attempt in range(n_attempts):
            if attempt:
                self._sleep(min(wait, MAX_WAIT))
            self._keep_rate()
            try:
                return parse_reply(self._send(data))
            except _TemporaryError as error:
                problem, wait = str(error), error.wait or 2**attempt * FIRST_WAIT
            except BadInput:
                raise
            except (ValueError, RecursionError):
                problem, wait = "the response was invalid", 2**attempt * FIRST_WAIT
        raise BadInput(f"{self.url} failed {n_attempts} times, at last because {problem}; try again later")

    def _keep_rate(self) -> None:
        early = self._next - self._now()
        if early > 0:
            self._sleep(early)
        self._next = self._now() + 60 / self._options.per_minute

    def _send(self, data: bytes) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url, data, headers)  # noqa: S310  (the scheme was checked)
        try:
            with self._opener.open(request, timeout=self._options.timeout) as response:
                content = response.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._http_error(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = _printable(getattr(error, "reason", error))
            raise _TemporaryError(f"it cannot be reached ({reason})") from None
        if len(content) > MAX_BYTES:
            raise ValueError("response too long")
        return json.loads(content)

    def _http_error(self, error: urllib.error.HTTPError) -> Exception:
        if error.code in TEMPORARY or error.code >= 500:
            after = error.headers.get("Retry-After") or ""
            wait = float(after) if after.isascii() and after.isdigit() else 0.0
            return _TemporaryError(f"the status was {error.code}", wait)
        if error.code in UNAUTHORIZED:
            return BadInput(f"{self.url} does not accept the key (status {error.code}); check the key")
        message = _printable(error.read(MAX_BYTES).decode("utf-8", "replace"))
        return BadInput(f"{self.url} refused with status {error.code}: {message}; check endpoint and model")


class _TemporaryError(Exception):
    """The request may succeed later; `wait` is the number of seconds that the server asks for, or 0."""

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: data and key are meant for one server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _check_url(url: str, key: str | None) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
        (parts.path + parts.query).encode("ascii")
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        raise BadInput(f"{url!r:.200} is no URL of a server; give one such as https://host/v1")
    if key and parts.scheme == "http" and not _is_local(host):
        raise BadInput(f"the key would be sent unencrypted to {host}; give an https URL")
    if key and not (key.isascii() and key.isprintable()):
        raise BadInput("the key has characters that are not allowed; check the variable with the key")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _printable(text: object) -> str:
    """Text of a server, shortened and without control characters."""
    return "".join(c if c.isprintable() else " " for c in str(text))[:MAX_QUOTED].strip() or "no reason given"
