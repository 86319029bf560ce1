import json
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import (
    Budget,
    Endpoint,
    Post,
    address,
    by_pixels,
    multiple_choice,
    questions,
)
from everlearn.evaluation.protocols.vlm_client import chosen, messages
from everlearn.streams import sprites
from tests.chat_server import ChatServer

ASKED = questions(sprites(image_size=16, factor_values=2), counts=(2, 5), n_trials=4)


def endpoint(server: ChatServer, answers: Path, budget: Budget | None = None, model: str = "m") -> Endpoint:
    post = Post(address(server.url), per_minute=1e6, retries=2, sleep=lambda _: None)
    return Endpoint(post, model=model, answers=answers, budget=budget)


def test_images_arrive_whole_and_in_order(server: ChatServer, tmp_path: Path) -> None:
    """The server matches pixels; so does by_pixels on what was sent."""
    found = multiple_choice(endpoint(server, tmp_path), ASKED)
    assert found == multiple_choice(by_pixels, ASKED)
    assert [body["model"] for _, body in server.requests] == ["m"] * 8


def test_colours_arrive_too(server: ChatServer, tmp_path: Path) -> None:
    asked = questions(
        sprites(image_size=16, factor_values=2, rgb=True, colour=4, classes_per_task=2),
        counts=(3,),
        n_trials=4,
    )
    assert asked[0][0].query.shape == (1, 16, 16, 3)
    assert multiple_choice(endpoint(server, tmp_path), asked) == multiple_choice(by_pixels, asked)


def test_the_messages_are_those_of_the_paper() -> None:
    instruction, query, choices = messages(ASKED[1][0])
    assert instruction["content"][0]["text"].startswith("You will be shown a query image containing a black")
    assert "a single number between 0 and 4 (inclusive)" in instruction["content"][0]["text"]
    assert (len(query["content"]), len(choices["content"])) == (1, 5)


def test_what_was_answered_is_not_asked_again(server: ChatServer, tmp_path: Path) -> None:
    first = multiple_choice(endpoint(server, tmp_path), ASKED)
    again = endpoint(server, tmp_path)
    assert multiple_choice(again, ASKED) == first
    assert (again.n_asked, again.n_known, len(server.requests)) == (0, 8, 8)
    multiple_choice(endpoint(server, tmp_path, model="another"), ASKED)
    assert len(server.requests) == 16


def test_a_protocol_that_broke_off_goes_on(server: ChatServer, tmp_path: Path) -> None:
    server.troubles = ["", "", "", *[500] * 3]
    with pytest.raises(BadInput, match="failed 3 times"):
        multiple_choice(endpoint(server, tmp_path), ASKED)
    again = endpoint(server, tmp_path)
    assert multiple_choice(again, ASKED) == multiple_choice(by_pixels, ASKED)
    assert (again.n_known, again.n_asked) == (3, 5)


def test_no_answer_is_counted_as_none(server: ChatServer, tmp_path: Path) -> None:
    server.troubles = ["undecided", "mute", "talkative", ""]
    (two, _) = multiple_choice(endpoint(server, tmp_path), ASKED)
    right = [by_pixels(question) == question.answer for question in ASKED[0]]
    assert (two.n_unanswered, two.n_right) == (2, sum(right[2:]))


def test_the_cost_limit_is_kept(server: ChatServer, tmp_path: Path) -> None:
    budget = Budget(price_in=2.0, price_out=100.0, limit=0.007)  # an answer costs 0.003
    poor = endpoint(server, tmp_path, budget)
    with pytest.raises(BadInput, match=r"3 answers have cost 0\.0090, and the limit is 0\.007"):
        multiple_choice(poor, ASKED)
    assert poor.cost == pytest.approx(0.009)
    assert len(server.requests) == len(list(tmp_path.iterdir())) == 3


def test_a_limit_needs_tokens_that_are_counted(server: ChatServer, tmp_path: Path) -> None:
    server.troubles = ["uncounted"]
    with pytest.raises(BadInput, match="does not count tokens"):
        multiple_choice(endpoint(server, tmp_path, Budget(price_in=1, limit=1)), ASKED)
    server.troubles = ["uncounted"]
    assert endpoint(server, tmp_path / "other")(ASKED[0][0]) is not None


def test_a_limit_needs_prices() -> None:
    with pytest.raises(BadInput, match="needs the price"):
        Budget(limit=1.0)
    with pytest.raises(BadInput, match="price_in"):
        Budget(price_in=-1)


def test_a_damaged_answer_is_no_answer(server: ChatServer, tmp_path: Path) -> None:
    endpoint(server, tmp_path)(ASKED[0][0])
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_text())["model"] == "m"
    kept.write_text("{")
    with pytest.raises(BadInput, match="take it away"):
        endpoint(server, tmp_path)(ASKED[0][0])


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), (" 4\n", 4), ("4.", 4), ("Image 2 is image 2", 2), ("5", None), ("1, 2", None), ("two", None)],
)
def test_only_one_number_is_an_answer(text: str, number: int | None) -> None:
    assert chosen(text, 5) == number


def test_a_model_needs_a_name(server: ChatServer, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no model's name"):
        endpoint(server, tmp_path, model=" ")
