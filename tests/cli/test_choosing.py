import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from everlearn import runs
from tests.chat_server import ChatServer, chat_server

from .outcomes import Run, assert_refused, tree

FEW = ("--choices", "2,4", "--trials", "5")
STREAM = ("--image-size", "16", "--factor-values", "2")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with chat_server() as found:
        yield found


def model(server: ChatServer, *more: str) -> tuple[str, ...]:
    return ("--endpoint", server.url, "--model", "seer", "--per-minute", "1000000", *more)


def test_a_learner_and_pixels_get_the_same_questions(run: Run, records: Path) -> None:
    before = runs.Record("records/dcl").digest
    facts = json.loads(run("protocol", "choice", "records/dcl", *FEW, "--json").out)
    assert list(facts["answers"]) == ["pixel matching", "dcl"]
    assert [each["n_choices"] for each in facts["answers"]["dcl"]] == [2, 4]
    assert (facts["tasks"], facts["trials"]) == (2, 5)
    assert json.loads((records / "dcl" / "protocols" / "choice.json").read_text()) == facts
    assert runs.Record("records/dcl").digest == before


def test_a_model_is_asked_over_the_network_and_only_once(
    run: Run, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    facts = json.loads(run("protocol", "choice", *STREAM, *FEW, *model(server), "--json").out)
    assert facts["answers"]["seer"] == facts["answers"]["pixel matching"]
    assert (facts["asked"], facts["known"], len(server.requests)) == (10, 0, 10)
    assert server.requests[0][0]["Authorization"] == "Bearer secret"
    again = json.loads(run("protocol", "choice", *STREAM, *FEW, *model(server), "--json").out)
    assert (again["asked"], again["known"], len(server.requests)) == (0, 10, 10)
    assert again["answers"] == facts["answers"]
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "answers").iterdir())


def test_a_figure_is_drawn_and_a_table_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = run("protocol", "choice", *STREAM, *FEW, "--out", "choice.svg").out
    assert "a guess" in out
    assert "0.250" in out
    assert (tmp_path / "choice.svg").read_bytes().startswith(b"<?xml")


def test_a_server_that_refuses_is_a_sentence(
    run: Run, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.troubles = [401]
    refused = run("protocol", "choice", *STREAM, *FEW, *model(server))
    assert_refused(refused)
    assert "secret" not in refused.err
    assert_refused(run("protocol", "choice", *STREAM, *FEW, *model(server, "--max-cost", "1")))


@pytest.mark.parametrize(
    "words",
    [
        ("records/nearest",),
        ("missing",),
        ("records/dcl", "--image-size", "16"),
        ("--choices", "1"),
        ("--choices", "two"),
        ("--choices", ""),
        ("--trials", "0"),
        ("--endpoint", "http://localhost:1/v1"),
        ("--model", "seer"),
        ("--endpoint", "nowhere", "--model", "seer"),
        ("--endpoint", "http://localhost:1/v1", "--model", "seer", "--retries", "-1"),
        ("--endpoint", "http://localhost:1/v1", "--model", "seer", "--timeout", "nan"),
        ("--out", "choice.txt"),
        ("--out", "missing/choice.svg"),
        ("--stream", "mnsit"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(run: Run, records: Path, words: tuple[str, ...]) -> None:
    before = tree(records)
    assert_refused(run("protocol", "choice", *words))
    assert tree(records) == before
