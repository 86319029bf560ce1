from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, record, resume
from everlearn.runs.events import TaskEnded
from everlearn.runs.progress import ProgressReader, follow_progress, read_progress

from .conftest import Interrupt, tiny


def test_reader_has_progress_after_every_task(tmp_path: Path) -> None:
    events = record(tiny(n_tasks=2), tmp_path / "a")
    saved = Record(tmp_path / "a")
    reader = ProgressReader(saved)
    assert reader.poll() == (0, None, None)
    assert reader.poll() is None
    found = []
    for event in events:
        progress = reader.poll()
        assert (progress is not None) == isinstance(event, TaskEnded)
        found += [] if progress is None else [progress]
    assert [(each.done, each.n_tasks) for each in found] == [(1, 2), (2, 2)]
    last = list(saved.evaluations())[-1]
    assert found[-1].accuracy == pytest.approx(sum(last["n_correct"]) / sum(last["n_images"]))
    assert found[-1] == read_progress(saved)


def test_progress_of_events_increases_to_the_number_of_tasks(tmp_path: Path) -> None:
    events = record(tiny(n_tasks=2, epochs=2), tmp_path / "a")
    progress = list(follow_progress(events, Record(tmp_path / "a")))
    done = [each.done for each in progress]
    assert done == sorted(done)
    assert progress[-1] == read_progress(Record(tmp_path / "a"))


@pytest.mark.parametrize("log", ["events.jsonl", "scores.jsonl", "seconds.jsonl"])
def test_an_incomplete_log_is_refused(log: str, tmp_path: Path) -> None:
    for _ in record(tiny(n_tasks=1), tmp_path / "a"):
        pass
    (tmp_path / "a" / log).write_text("{}\n")
    with pytest.raises(BadInput, match="a is damaged"):
        read_progress(Record(tmp_path / "a"))


def test_progress_continues_from_the_last_accuracy(interrupted: Interrupt) -> None:
    saved = Record(interrupted(after=1))
    first = next(follow_progress(resume(saved.folder), saved))
    assert first.done > 2
    assert first.accuracy == read_progress(saved).accuracy is not None
