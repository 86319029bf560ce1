from dataclasses import replace
from pathlib import Path

import pytest

from everlearn.runs import Record
from everlearn.runs.sweep import Job, estimate, timed

from .examples import job, played


def jobs(folder: Path, *seconds: float | None) -> list[Job]:
    return [replace(job(folder / str(n), seed=n), seconds=each) for n, each in enumerate(seconds)]


@pytest.mark.parametrize(("workers", "expected"), [(1, 60.0), (2, 30.0), (8, 30.0)])
def test_work_is_shared_but_a_job_is_not(tmp_path: Path, workers: int, expected: float) -> None:
    assert estimate(jobs(tmp_path, 30.0, 20.0, 10.0), workers=workers) == expected


def test_nobody_knows_what_one_job_does_not_say(tmp_path: Path) -> None:
    assert estimate(jobs(tmp_path, 30.0, None), workers=2) is None


def test_nothing_takes_no_time(tmp_path: Path) -> None:
    assert estimate([], workers=2) == 0.0


def test_what_is_done_is_not_waited_for(tmp_path: Path) -> None:
    first, second = jobs(tmp_path, None, 10.0)
    played(first)
    assert estimate([first, second], workers=2) == 10.0
    second.begin()
    (Record(second.folder).folder / "seconds.jsonl").write_text('{"task": 0, "seconds": 4.0}\n')
    assert estimate([first, second], workers=2) == 6.0


def test_records_that_differ_only_in_seeds_tell_how_long_it_takes(tmp_path: Path) -> None:
    first, second = (job(tmp_path / str(n), seed=n, **{"stream.seed": n}) for n in (0, 1))
    other = job(tmp_path / "other", epochs=2)
    record = played(first)
    (record.folder / "seconds.jsonl").write_text('{"task": 0, "seconds": 4.0}\n{"task": 1, "seconds": 3.0}\n')
    second.begin()  # not finished: it says nothing
    records = [record, Record(second.folder)]
    assert [each.seconds for each in timed([first, second, other], records)] == [7.0, 7.0, None]
