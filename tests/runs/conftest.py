"""Short runs, complete or interrupted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everlearn.runs import Record, RunSpec, record, recorder, resume
from everlearn.runs.events import Event, RunEnded, TaskEnded

TINY = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "n_tasks": 4,
    "batch_size": 16,
    "evaluation.n_images": 8,
}
Interrupt = Callable[..., Path]


def tiny(learner: str = "nearest", **settings: Any) -> RunSpec:
    return RunSpec.make(learner=learner, settings={**TINY, **settings})


def finish(events: Iterator[Event]) -> RunEnded:
    *_, last = events
    assert isinstance(last, RunEnded)
    return last


def run_until(events: Iterator[Event], is_last: Callable[[Event], bool]) -> None:
    """Consume events up to one, and abandon the run."""
    next(event for event in events if is_last(event))
    events.close()  # type: ignore[attr-defined]  # a generator


def run_one_task(folder: Path) -> None:
    run_until(resume(folder), lambda event: isinstance(event, TaskEnded))


def tree(folder: Path) -> dict[str, bytes]:
    """Files and their content, except the lock, which contains a process id."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def n_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(autouse=True)
def _checkpoint_after_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MAX_CHECKPOINT_OVERHEAD", 1e12)


@pytest.fixture(scope="session")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digest of the uninterrupted tiny run."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    finish(record(tiny(), folder))
    return Record(folder).digest


@pytest.fixture
def interrupted(tmp_path: Path) -> Interrupt:
    """Makes a record of a run that was abandoned after a task."""

    def interrupt(spec: RunSpec | None = None, *, after: int = 2, name: str = "run") -> Path:
        events = record(spec or tiny(), tmp_path / name)
        run_until(events, lambda event: isinstance(event, TaskEnded) and event.task == after)
        return tmp_path / name

    return interrupt
