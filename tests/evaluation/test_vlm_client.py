import json
from pathlib import Path
from typing import Any

import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.multiple_choice import make_questions, match_pixels, score_choices
from everlearn.evaluation.vlm_client import (
    ChatConnection,
    Reply,
    VLMClient,
    VLMOptions,
    chat_messages,
    parse_choice,
)
from everlearn.streams import sprites
from tests.chat_server import ChatServer

QUESTIONS = make_questions(sprites(image_size=16, factor_values=2), n_choices=(2, 5), n_trials=4)
BODY = {"model": "m", "messages": chat_messages(QUESTIONS[1][0])}


class Clock:
    """A clock that advances only in `sleep`."""

    def __init__(self) -> None:
        self.time, self.waits = 100.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    @property
    def retries(self) -> list[float]:
        """Waits that do not only keep the rate."""
        return [wait for wait in self.waits if wait > 0.01]


def connection(url: str, clock: Clock, key: str | None = None, **options: Any) -> ChatConnection:
    made = VLMOptions(**{"per_minute": 1e6, "retries": 3, **options})
    return ChatConnection(f"{url}/chat/completions", made, key, clock.sleep, lambda: clock.time)


def client(server: ChatServer, answers: Path, **options: Any) -> VLMClient:
    options = {"model": "m", "per_minute": 1e6, "retries": 2, **options}
    made = VLMOptions(endpoint=server.url, answers=answers, **options).client(sleep=lambda _: None)
    assert made is not None
    return made


def test_post_returns_the_parsed_reply(server: ChatServer) -> None:
    reply = connection(server.url, Clock()).post(BODY)
    assert isinstance(reply, Reply)
    assert reply.text in "01234"
    assert (reply.tokens_in, reply.tokens_out) == (1000, 10)
    assert "Authorization" not in server.requests[0][0]
    assert server.requests[0][1] == BODY


@pytest.mark.parametrize("failure", [500, 408, "garbage", "other JSON", "deep", "hang up"])
def test_temporary_failures_are_retried_with_increasing_waits(server: ChatServer, failure: int | str) -> None:
    server.failures, clock = [failure] * 3, Clock()
    assert connection(server.url, clock).post(BODY).text in "01234"
    assert len(server.requests) == 4
    assert clock.retries == [1, 2, 4]


def test_retry_after_is_followed_and_waits_are_bounded(server: ChatServer) -> None:
    server.failures, clock = [429, 429, 500], Clock()
    connection(server.url, clock).post(BODY)
    assert clock.retries == [7, 7, 4]
    server.failures, clock = [500] * 9, Clock()
    connection(server.url, clock, retries=9).post(BODY)
    assert clock.retries == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_timeout(server: ChatServer) -> None:
    server.failures = ["silent"]
    assert connection(server.url, Clock(), timeout=0.3, retries=20).post(BODY).text in "01234"
    assert len(server.requests) >= 2  # a loaded machine may exceed the timeout itself


@pytest.mark.parametrize(("failure", "reason"), [(500, "the status was 500"), ("garbage", "invalid")])
def test_permanent_failures_raise_after_all_retries(
    server: ChatServer, failure: int | str, reason: str
) -> None:
    server.failures = [failure] * 4
    with pytest.raises(BadInput, match=f"failed 4 times, at last because .*{reason}"):
        connection(server.url, Clock()).post(BODY)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "does not accept the key"), (403, "the key"), (404, "status 404"), (302, "302")],
)
def test_refusals_are_not_retried(server: ChatServer, status: int, reason: str) -> None:
    server.failures, clock = [status], Clock()
    with pytest.raises(BadInput, match=reason) as error:
        connection(server.url, clock, key="secret").post(BODY)
    assert len(server.requests) == 1
    assert clock.retries == []
    assert "secret" not in str(error.value)
    assert "\x1b" not in str(error.value)


def test_unreachable_server() -> None:
    with pytest.raises(BadInput, match="cannot be reached"):
        connection("http://127.0.0.1:1/v1", Clock(), retries=1).post(BODY)


def test_rate_limit(server: ChatServer) -> None:
    clock = Clock()
    limited = connection(server.url, clock, per_minute=20)
    for _ in range(3):
        limited.post(BODY)
    assert clock.waits == pytest.approx([3, 3])
    clock.time += 2
    limited.post(BODY)
    assert clock.waits == pytest.approx([3, 3, 1])


def test_invalid_urls_are_refused_and_keys_sent_encrypted_or_locally_only() -> None:
    options = VLMOptions()
    invalid = ("", "file:///etc/passwd", "host/v1", "http://", "http://a b/", "http://h:x/", "http://[/")
    for url in (*invalid, "http://h/modèle"):
        with pytest.raises(BadInput, match="no URL of a server"):
            ChatConnection(url, options)
    with pytest.raises(BadInput, match=r"unencrypted to example\.org"):
        ChatConnection("http://example.org/v1", options, "secret")
    for url in ("https://example.org/v1", "http://localhost/v1", "http://127.0.0.1:80", "http://[::1]/v1"):
        assert ChatConnection(url, options, "secret").url == url
    with pytest.raises(BadInput, match="characters that are not allowed"):
        ChatConnection("https://example.org/v1", options, "sec\nret")


def test_images_are_sent_losslessly_and_in_order(server: ChatServer, tmp_path: Path) -> None:
    """The server matches pixels, as match_pixels does."""
    assert score_choices(client(server, tmp_path), QUESTIONS) == score_choices(match_pixels, QUESTIONS)
    assert [body["model"] for _, body in server.requests] == ["m"] * 8


def test_colour_images_are_sent(server: ChatServer, tmp_path: Path) -> None:
    stream = sprites(image_size=16, factor_values=2, rgb=True, colour=4, classes_per_task=2)
    questions = make_questions(stream, n_choices=(3,), n_trials=4)
    assert questions[0][0].query.shape == (1, 16, 16, 3)
    assert score_choices(client(server, tmp_path), questions) == score_choices(match_pixels, questions)


def test_messages_are_those_of_the_paper() -> None:
    instruction, query, choices = chat_messages(QUESTIONS[1][0])
    assert instruction["content"][0]["text"].startswith("You will be shown a query image containing a black")
    assert "a single number between 0 and 4 (inclusive)" in instruction["content"][0]["text"]
    assert (len(query["content"]), len(choices["content"])) == (1, 5)


def test_answers_are_stored_and_not_requested_again(server: ChatServer, tmp_path: Path) -> None:
    first = score_choices(client(server, tmp_path), QUESTIONS)
    again = client(server, tmp_path)
    assert score_choices(again, QUESTIONS) == first
    assert (again.n_requests, again.n_cached, len(server.requests)) == (0, 8, 8)
    score_choices(client(server, tmp_path, model="another"), QUESTIONS)
    assert len(server.requests) == 16


def test_interrupted_evaluation_continues(server: ChatServer, tmp_path: Path) -> None:
    server.failures = ["", "", "", *[500] * 3]
    with pytest.raises(BadInput, match="failed 3 times"):
        score_choices(client(server, tmp_path), QUESTIONS)
    again = client(server, tmp_path)
    assert score_choices(again, QUESTIONS) == score_choices(match_pixels, QUESTIONS)
    assert (again.n_cached, again.n_requests) == (3, 5)


def test_replies_without_a_choice_count_as_unanswered(server: ChatServer, tmp_path: Path) -> None:
    server.failures = ["undecided", "mute", "talkative", ""]
    (two, _) = score_choices(client(server, tmp_path), QUESTIONS)
    correct = [match_pixels(question) == question.answer for question in QUESTIONS[0]]
    assert (two.n_unanswered, two.n_correct) == (2, sum(correct[2:]))


def test_cost_limit(server: ChatServer, tmp_path: Path) -> None:
    limited = client(server, tmp_path, price_in=2.0, price_out=100.0, max_cost=0.007)  # 0.003 per answer
    with pytest.raises(BadInput, match=r"3 answers have cost 0\.0090, and the limit is 0\.007"):
        score_choices(limited, QUESTIONS)
    assert limited.cost == pytest.approx(0.009)
    assert len(server.requests) == len(list(tmp_path.iterdir())) == 3


def test_cost_limit_needs_token_counts(server: ChatServer, tmp_path: Path) -> None:
    server.failures = ["uncounted"]
    with pytest.raises(BadInput, match="does not report tokens"):
        score_choices(client(server, tmp_path, price_in=1, max_cost=1), QUESTIONS)
    server.failures = ["uncounted"]
    assert client(server, tmp_path / "other")(QUESTIONS[0][0]) is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_cost": 1.0}, "needs the prices"),
        ({"price_in": -1}, "price_in is -1"),
        ({"endpoint": "http://localhost/v1"}, "an endpoint and a name"),
        ({"endpoint": "http://localhost/v1", "model": " "}, "no model name"),
        ({"retries": -1}, "retries is -1"),
        ({"timeout": 0}, "timeout is 0"),
        ({"answers": __file__}, "give a folder"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        VLMOptions(**options)
    assert VLMOptions().client() is None


def test_damaged_answers_are_refused(server: ChatServer, tmp_path: Path) -> None:
    client(server, tmp_path)(QUESTIONS[0][0])
    (stored,) = tmp_path.iterdir()
    assert json.loads(stored.read_text())["model"] == "m"
    stored.write_text("{")
    with pytest.raises(BadInput, match="delete it"):
        client(server, tmp_path)(QUESTIONS[0][0])


def test_only_a_single_number_is_a_choice() -> None:
    choices = {"0": 0, " 4\n": 4, "4.": 4, "Image 2 is image 2": 2, "5": None, "1, 2": None, "two": None}
    assert {text: parse_choice(text, 5) for text in choices} == choices
