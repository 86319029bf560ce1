"""Runs that are started from a page are processes of their own."""

import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from everlearn import runs
from everlearn.files import lock_holder
from everlearn.runs import Record
from everlearn.studio.forms import learner_form, run_form, stream_form
from everlearn.studio.processes import Starter
from everlearn.studio.security import Conflict

from .visits import SETTINGS, Studio


def until(is_so: Callable[[], object], seconds: float = 120) -> None:
    """Wait for something that must come to pass."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def start(studio: Studio, **wish: object) -> str:
    answer = studio.client.post("/api/runs", json=wish)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["record"])


def test_a_run_is_started_stopped_and_goes_on_to_the_same_end(studio: Studio, records: Path) -> None:
    settings = {**SETTINGS, "n_tasks": 300, "evaluation.probe_size": 20}
    name = start(studio, learner="nearest", settings=settings, name="from the page")
    folder = records / name
    until(lambda: Record(folder).n_tasks_played > 1)
    assert studio.get("/api/records", words="from the page").json()["records"][0]["playing"]
    process = psutil.Process(lock_holder(folder) or 0)
    assert os.getsid(process.pid) == process.pid  # its own session: what ends the server does not end it
    assert studio.post("/api/runs/stop", record=name).status_code == 200
    until(lambda: lock_holder(folder) is None)
    assert not Record(folder).is_finished
    assert studio.post("/api/runs/stop", record=name).status_code == 409
    assert studio.post("/api/runs/resume", record=name).status_code == 200
    until(lambda: Record(folder).is_finished)
    assert studio.post("/api/runs/resume", record=name).status_code == 409
    alone = runs.RunSpec.make(learner="nearest", settings=settings)
    for _ in runs.record(alone, records / "alone"):
        pass
    assert Record(folder).digest == Record(records / "alone").digest


@pytest.mark.parametrize(
    ("wish", "code", "word"),
    [
        ({"learner": "drc"}, 400, "unknown learner 'drc'"),
        ({"stream": "sprits"}, 400, "did you mean 'sprites'"),
        ({"settings": {"learner.n_refinements": -1}}, 400, "n_refinements is -1"),
        ({"settings": {"epochs": -1}}, 400, "epochs is -1"),
        ({"settings": {"n_tasks": "1e400"}}, 400, "n_tasks"),
        ({"settings": {"--record": "/tmp/x"}}, 400, "--record"),
        ({"settings": {"nothing.at": 1}}, 400, "unknown section"),
        ({"name": "a\nb"}, 400, "no name for a run"),
        ({"wish": 1}, 400, "wish"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_is_made(
    studio: Studio, records: Path, wish: dict[str, object], code: int, word: str
) -> None:
    before = sorted(records.iterdir())
    answer = studio.client.post("/api/runs", json=wish)
    assert (answer.status_code, word in answer.json()["error"]) == (code, True), answer.text
    assert sorted(records.iterdir()) == before


def test_the_same_run_twice_is_one_run(studio: Studio, records: Path) -> None:
    name = start(studio, learner="nearest", settings=SETTINGS)
    until(lambda: Record(records / name).is_finished)
    answer = studio.client.post("/api/runs", json={"learner": "nearest", "settings": SETTINGS})
    assert answer.status_code == 409
    assert "already" in answer.json()["error"]


@pytest.mark.parametrize("rounds", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_the_same_run_wished_by_four_at_once_is_one_run(studio: Studio, records: Path, rounds: int) -> None:
    for seed in range(rounds):
        rush(studio, records, {**SETTINGS, "seed": seed})


def rush(studio: Studio, records: Path, settings: dict[str, object]) -> None:
    """Whoever is faster plays; nobody else's process touches the record, and its end is that of one alone."""
    wish = {"learner": "nearest", "settings": settings}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: studio.client.post("/api/runs", json=wish), range(4)))
    assert {answer.status_code for answer in answers} <= {200, 400, 409}
    (name,) = {answer.json()["record"] for answer in answers if answer.is_success}
    until(lambda: Record(records / name).is_finished)
    told = [event["event"] for event in Record(records / name).events()]
    assert (told.count("run-started"), told.count("run-ended")) == (1, 1)
    alone = records / f"alone-{settings['seed']}"
    for _ in runs.record(runs.RunSpec.make(learner="nearest", settings=settings), alone):
        pass
    assert Record(records / name).digest == Record(alone).digest


def test_a_form_says_what_the_constructor_says() -> None:
    form = {field["key"]: field for field in learner_form("dcl")["fields"]}
    assert form["learner.n_refinements"]["default"] == 1
    assert form["learner.n_refinements"]["meaning"].startswith("pose predictions after")
    assert form["learner.n_refinements"]["input"] == "number"
    stream = {field["key"]: field for field in stream_form("sprites")["fields"]}
    assert (stream["stream.image_size"]["low"], stream["stream.image_size"]["high"]) == (16, 512)
    assert stream["stream.rgb"]["input"] == "switch"
    assert {"n_tasks", "epochs", "seed"} <= {field["key"] for field in run_form()}


def test_every_form_with_its_own_defaults_is_a_run(studio: Studio) -> None:
    choices = studio.get("/api/runs/choices").json()
    for name in choices["learners"]:
        fields = studio.get("/api/runs/learner", name=name).json()["fields"]
        settings = {f["key"]: f["default"] for f in fields if f["default"] is not None}
        assert runs.RunSpec.make(learner=name, settings=settings) == runs.RunSpec.make(learner=name)


def test_signals_go_to_the_run_alone(records: Path) -> None:
    """A process whose number merely stands in an old lock is never asked to stop."""
    (records / "dcl" / ".lock").write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with pytest.raises(Conflict, match="not playing"):
            Starter.stop(Record(records / "dcl"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == []
