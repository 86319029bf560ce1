"""Small runs, kept whole or broken off."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everlearn.runs import RunSpec, record, recorder, resume
from everlearn.runs.events import Event, RunEnded, TaskEnded

TINY = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "n_tasks": 4,
    "batch_size": 16,
    "evaluation.probe_size": 8,
}


def tiny(learner: str = "nearest", **settings: Any) -> RunSpec:
    return RunSpec.make(learner=learner, settings={**TINY, **settings})


@pytest.fixture(autouse=True)
def _save_at_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "SAVING_SHARE", 1e12)


@pytest.fixture(scope="session")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the tiny run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("calm") / "run"
    *_, _last = record(tiny(), folder)
    return recorder.Record(folder).digest


BreakOff = Callable[..., Path]


def finish(story: Iterator[Event]) -> RunEnded:
    *_, last = story
    assert isinstance(last, RunEnded)
    return last


def play_a_task(folder: Path) -> None:
    """Go on until a task ends, and leave."""
    story = resume(folder)
    while not isinstance(next(story), TaskEnded):
        pass
    story.close()  # type: ignore[attr-defined]  # a generator


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def break_off(tmp_path: Path) -> BreakOff:
    """A record whose run was left after a task."""

    def left(spec: RunSpec | None = None, *, after: int = 2, name: str = "run") -> Path:
        story = record(spec or tiny(), tmp_path / name)
        for event in story:
            if isinstance(event, TaskEnded) and event.task == after:
                story.close()  # type: ignore[attr-defined]  # a generator
        return tmp_path / name

    return left
