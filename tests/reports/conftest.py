"""Small runs, really played: two seeds of replay, one each of others, one that is not finished."""

import contextlib
import io
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from everlearn.cli import main
from everlearn.runs import Record, RunSpec, record

SETTINGS: dict[str, Any] = {
    "stream.image_size": 16,
    "stream.classes_per_task": 3,
    "stream.factor_values": 2,
    "stream.split": [8, 2, 6],
    "n_tasks": 3,
    "batch_size": 8,
    "evaluation.probe_size": 60,
}
INSIDE = {"evaluation.inside_every": 1}
HELD_OUT = {"stream.factor_values": 3, "stream.held_out": 10, "learner.width": 4}


def played(folder: Path, learner: str, *, name: str | None = None, **settings: Any) -> Record:
    """A whole run, recorded."""
    for _ in record(RunSpec.make(learner=learner, settings={**SETTINGS, **settings}), folder, name=name):
        pass
    return Record(folder)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    root = tmp_path_factory.mktemp("runs")
    small = {"learner.memory_size": 4}
    return {
        "er-0": played(root / "er-0", "er", **INSIDE),
        "er-1": played(root / "er-1", "er", **INSIDE, seed=1),
        "er-small": played(root / "er-small", "er", **INSIDE, **small),
        "naive": played(root / "naive", "naive"),
        "nearest": played(root / "nearest <b>&", "nearest"),
        "dcl": played(root / "dcl", "dcl"),
    }


@pytest.fixture(scope="session")
def asked(runs: dict[str, Record], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """Copies of some runs, whose learners were asked every question."""
    root = tmp_path_factory.mktemp("asked")
    again = played(root / "dcl-1", "dcl", **HELD_OUT, seed=1)
    found = {"dcl-0": played(root / "dcl-0", "dcl", **HELD_OUT), "dcl-1": again}
    found["naive"] = Record(shutil.copytree(runs["naive"].folder, root / "naive"))
    with contextlib.redirect_stdout(io.StringIO()):
        for name in ("dcl-0", "dcl-1"):
            assert main(["protocol", "openset", str(root / name), "--size", "40"]) == 0
            assert main(["protocol", "oneshot", str(root / name), "--new", "2,5", "--size", "20"]) == 0
            assert main(["protocol", "transfer", str(root / name), "--size", "30"]) == 0
        assert main(["protocol", "online", str(root / "naive"), "--epochs", "2"]) == 0
    return found


@pytest.fixture
def unfinished(tmp_path: Path) -> Iterator[Record]:
    """A run that is still in its second task."""
    folder = tmp_path / "unfinished"
    events = record(RunSpec.make(learner="nearest", settings=SETTINGS), folder)
    list(takewhile(lambda event: event.kind != "task-started" or event.to_json()["task"] == 0, events))
    yield Record(folder)
    events.close()  # type: ignore[attr-defined]  # it is a generator, and holds the record's lock
