from typing import Any

import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import Post
from everlearn.evaluation.protocols.multiple_choice import questions
from everlearn.evaluation.protocols.vlm_client import Reply, messages, read_reply
from everlearn.streams import sprites
from tests.chat_server import ChatServer

((QUESTION,),) = questions(sprites(image_size=16, factor_values=2), counts=(3,), n_trials=1)
BODY = {"model": "m", "messages": messages(QUESTION)}


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.time, self.waits = 100.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def posting(server: ChatServer, clock: Clock, **how: Any) -> Post:
    how = {"per_minute": 1e6, "retries": 3, **how}
    return Post(f"{server.url}/chat/completions", sleep=clock.sleep, now=lambda: clock.time, **how)


def long(waits: list[float]) -> list[float]:
    """Without what only keeps the rate."""
    return [wait for wait in waits if wait > 0.01]


def test_an_answer_comes_back(server: ChatServer) -> None:
    clock = Clock()
    reply = posting(server, clock)(BODY, read_reply)
    assert isinstance(reply, Reply)
    assert reply.text in "012"
    assert (reply.tokens_in, reply.tokens_out) == (1000, 10)
    assert "Authorization" not in server.requests[0][0]
    assert server.requests[0][1] == BODY


def test_a_key_is_sent_as_a_bearer_token(server: ChatServer) -> None:
    posting(server, Clock(), key="secret")(BODY, read_reply)
    assert server.requests[0][0]["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("trouble", [500, 502, 503, 408, "garbage", "other JSON", "deep", "hang up"])
def test_trouble_that_passes_is_waited_out(server: ChatServer, trouble: int | str) -> None:
    server.troubles, clock = [trouble] * 3, Clock()
    assert posting(server, clock)(BODY, read_reply).text in "012"
    assert len(server.requests) == 4
    assert long(clock.waits) == [1, 2, 4]


def test_a_busy_server_says_how_long_to_wait(server: ChatServer) -> None:
    server.troubles, clock = [429, 429, 500], Clock()
    posting(server, clock)(BODY, read_reply)
    assert long(clock.waits) == [7, 7, 4]


def test_waits_do_not_grow_for_ever(server: ChatServer) -> None:
    server.troubles, clock = [500] * 9, Clock()
    posting(server, clock, retries=9)(BODY, read_reply)
    assert long(clock.waits) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_silent_server_is_given_up_after_the_timeout(server: ChatServer) -> None:
    server.troubles = ["silent"]
    assert posting(server, Clock(), timeout=0.3, retries=20)(BODY, read_reply).text in "012"
    assert len(server.requests) >= 2  # a machine under load may be silent for a while itself


@pytest.mark.parametrize(("trouble", "why"), [(500, "it answered 500"), ("garbage", "nonsense")])
def test_trouble_that_lasts_becomes_a_sentence(server: ChatServer, trouble: int | str, why: str) -> None:
    server.troubles = [trouble] * 4
    with pytest.raises(BadInput, match=f"failed 4 times, at last because .*{why}"):
        posting(server, Clock())(BODY, read_reply)


@pytest.mark.parametrize(
    ("status", "why"), [(401, "does not accept the key"), (403, "the key"), (404, "status 404"), (302, "302")]
)
def test_what_waiting_cannot_mend_is_said_at_once(server: ChatServer, status: int, why: str) -> None:
    server.troubles, clock = [status], Clock()
    with pytest.raises(BadInput, match=why) as complaint:
        posting(server, clock, key="secret")(BODY, read_reply)
    assert len(server.requests) == 1
    assert long(clock.waits) == []
    assert "secret" not in str(complaint.value)
    assert "\x1b" not in str(complaint.value)


def test_nobody_there_becomes_a_sentence() -> None:
    clock = Clock()
    post = Post("http://127.0.0.1:1/v1", retries=1, sleep=clock.sleep, now=lambda: clock.time)
    with pytest.raises(BadInput, match="cannot be reached"):
        post(BODY, read_reply)


def test_requests_keep_their_distance(server: ChatServer) -> None:
    clock = Clock()
    post = posting(server, clock, per_minute=20)
    for _ in range(3):
        post(BODY, read_reply)
    assert clock.waits == pytest.approx([3, 3])
    clock.time += 2
    post(BODY, read_reply)
    assert clock.waits == pytest.approx([3, 3, 1])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host/v1",
        "file:///etc/passwd",
        "host/v1",
        "http://",
        "http://a b/",
        "http://h:x/",
        "http://[/",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="no address of a server"):
        Post(url)


def test_a_key_does_not_travel_in_the_open() -> None:
    with pytest.raises(BadInput, match=r"readable by all to example\.org"):
        Post("http://example.org/v1", key="secret")
    for url in ("https://example.org/v1", "http://localhost/v1", "http://127.0.0.1:80", "http://[::1]/v1"):
        assert Post(url, key="secret").url == url
    with pytest.raises(BadInput, match="characters that no key has"):
        Post("https://example.org/v1", key="sec\nret")
