"""Small runs, really played: two seeds of replay, one each of others, one that is not finished."""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

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


def played(folder: Path, learner: str, **settings: Any) -> Record:
    """A whole run, recorded."""
    for _ in record(RunSpec.make(learner=learner, settings={**SETTINGS, **settings}), folder):
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


@pytest.fixture
def unfinished(tmp_path: Path) -> Iterator[Record]:
    """A run that is still in its second task."""
    folder = tmp_path / "unfinished"
    events = record(RunSpec.make(learner="nearest", settings=SETTINGS), folder)
    list(takewhile(lambda event: event.kind != "task-started" or event.to_json()["task"] == 0, events))
    yield Record(folder)
    events.close()  # type: ignore[attr-defined]  # it is a generator, and holds the record's lock
