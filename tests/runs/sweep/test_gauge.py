from pathlib import Path

import pytest

from everlearn.runs import Record, record
from everlearn.runs.events import TaskEnded
from everlearn.runs.sweep.scheduler import Gauge, read

from .examples import job


def test_it_tells_how_far_a_run_is_whenever_a_task_has_ended(tmp_path: Path) -> None:
    spec, folder = job(tmp_path / "a").spec, tmp_path / "a"
    story = record(spec, folder)
    gauge = Gauge(Record(folder))
    assert gauge.news() == (0, None, None)
    assert gauge.news() is None
    told = []
    for event in story:
        news = gauge.news()
        assert (news is not None) == isinstance(event, TaskEnded)
        told += [] if news is None else [news]
    assert [(each.done, each.n_tasks) for each in told] == [(1, 2), (2, 2)]
    last = list(Record(folder).scores())[-1]
    assert told[-1].accuracy == pytest.approx(sum(last["correct"]) / sum(last["total"]))
    assert told[-1] == read(Record(folder))


def test_a_log_that_cannot_be_read_now_is_read_later(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    job(folder).begin()
    gauge = Gauge(Record(folder))
    (folder / "seconds.jsonl").write_text("{\n")
    assert gauge.news() is None
    (folder / "seconds.jsonl").write_text('{"task": 4, "seconds": 1.0}\n')
    assert gauge.news() == (5, None, None)
