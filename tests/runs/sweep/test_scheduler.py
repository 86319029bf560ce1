"""Real child processes on tiny streams; records do not depend on what happens to them or their parent."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, resume
from everlearn.runs.events import (
    Event,
    JobEvent,
    JobFailed,
    JobProgress,
    SweepEnded,
    SweepStarted,
    SweepStopping,
)
from everlearn.runs.run_record import RecordLock
from everlearn.runs.sweep import Capacity, Job, pending_commands, run_jobs
from tests.runs.conftest import finish

from .jobs_for_tests import LONG, failing_job, process_of, run_here, tiny_job

PARENT = """
import sys
from pathlib import Path
from tests.runs.sweep.jobs_for_tests import LONG, tiny_job
from everlearn.runs.sweep import run_jobs
for event in run_jobs([tiny_job(Path(sys.argv[1]), **LONG)]):
    print(event.kind, getattr(event, "done", 0), flush=True)
"""
PROTOCOL = ("held-out-factors", "--n-images", "10")


class Sweep(NamedTuple):
    """Events of three jobs: one was killed once, one always fails, one has a protocol."""

    events: list[Event]
    jobs: dict[str, Job]

    def of(self, name: str, *kinds: type[JobEvent]) -> list[JobEvent]:
        return [each for each in self.events if isinstance(each, kinds or JobEvent) and each.job == name]


def has_progress(event: Event) -> bool:
    return isinstance(event, JobProgress) and event.done >= 1


def kinds(events: list[Event]) -> list[str]:
    return [each.kind for each in events if not isinstance(each, JobProgress)]


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digest of the uninterrupted long run."""
    return run_here(tiny_job(tmp_path_factory.mktemp("uninterrupted") / "long", **LONG)).digest


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("jobs")
    jobs = {
        "long": tiny_job(folder / "long", **LONG),
        "failing": failing_job(folder / "failing"),
        "short": tiny_job(folder / "short", PROTOCOL, seed=1),
    }
    events, killed = [], 0
    for event in run_jobs(jobs.values(), capacity=Capacity(workers=2), retries=1):
        # Once: progress from before the kill may still be reported after it. A task is logged before it is
        # saved.
        is_saved = any((folder / "long" / "checkpoint").glob("*.sha256"))
        if has_progress(event) and event.job == "long" and is_saved and not killed:  # type: ignore[attr-defined]
            killed = process_of(folder / "long")
            os.kill(killed, signal.SIGKILL)
        events.append(event)
    return Sweep(events, jobs)


def test_results_are_those_of_single_runs(sweep: Sweep, tmp_path: Path, digest: str) -> None:
    assert Record(sweep.jobs["long"].folder).digest == digest
    single = run_here(tiny_job(tmp_path / "short", seed=1))
    assert Record(sweep.jobs["short"].folder).digest == single.digest


def test_protocols_run_after_training(sweep: Sweep) -> None:
    assert "held-out-factors" in Record(sweep.jobs["short"].folder).protocol_results()
    stages = [each.stage for each in sweep.of("short", JobProgress)]  # type: ignore[attr-defined]
    assert (stages[0], stages[-1]) == ("training", "held-out-factors")


def test_first_and_last_event_count_jobs(sweep: Sweep) -> None:
    assert sweep.events[0] == SweepStarted(n_jobs=3, n_finished=0, seconds=None)
    last = sweep.events[-1]
    assert isinstance(last, SweepEnded)
    assert (last.n_finished, last.n_failed, last.n_left, last.signal) == (2, 1, 0, None)


def test_killed_job_is_retried(sweep: Sweep) -> None:
    assert kinds(list(sweep.of("long"))) == ["job-started", "job-failed", "job-started", "job-finished"]
    (failed,) = sweep.of("long", JobFailed)
    reason = "terminated by SIGKILL (the system may have run out of memory)"
    assert failed == JobFailed("long", failed.record, reason, will_retry=True)


def test_retried_job_continues_from_its_checkpoint(sweep: Sweep) -> None:
    progress = [each.done for each in sweep.of("long", JobProgress)]  # type: ignore[attr-defined]
    assert min(progress[progress.index(next(done for done in progress if done)) :]) >= 1


def test_failing_job_does_not_stop_others(sweep: Sweep) -> None:
    failed = sweep.of("failing", JobFailed)
    assert [each.will_retry for each in failed] == [True, False]  # type: ignore[attr-defined]
    assert "'/nowhere', which is not a folder" in failed[0].reason  # type: ignore[attr-defined]


def test_finished_jobs_are_not_repeated(sweep: Sweep) -> None:
    done = [sweep.jobs["long"], sweep.jobs["short"]]
    before = [Record(each.folder).digest for each in done]
    assert [event.kind for event in run_jobs(done)] == ["sweep-started", "sweep-ended"]
    assert [Record(each.folder).digest for each in done] == before


def test_events_are_json(sweep: Sweep) -> None:
    for event in sweep.events:
        assert json.loads(json.dumps(event.to_json()))["event"] == event.kind


@pytest.mark.more
def test_stop_signal_saves_and_ends_all_jobs(tmp_path: Path, digest: str) -> None:
    jobs = [tiny_job(tmp_path / "long", **LONG), tiny_job(tmp_path / "next", seed=1)]
    events: list[Event] = []
    for event in run_jobs(jobs, capacity=Capacity(workers=1)):
        if has_progress(event) and not any(map(has_progress, events)):
            signal.raise_signal(signal.SIGINT)
        events.append(event)
    assert SweepStopping(signal=signal.SIGINT, n_running=1) in events
    last = events[-1]
    assert isinstance(last, SweepEnded)
    assert (last.n_finished, last.n_failed, last.n_left, last.signal) == (0, 0, 2, signal.SIGINT)
    assert not any(isinstance(each, JobFailed) for each in events)
    assert not jobs[1].folder.exists()
    assert not Record(jobs[0].folder).is_finished
    finish(resume(jobs[0].folder))
    assert Record(jobs[0].folder).digest == digest


def test_abandoned_generator_ends_its_processes(tmp_path: Path) -> None:
    def events(job: Job) -> Iterator[Event]:
        yield from run_jobs([job])

    long = tiny_job(tmp_path / "long", **LONG)
    with closing(events(long)) as running:
        next(each for each in running if has_progress(each))
    with RecordLock(long.folder):
        assert pending_commands(long)


@pytest.mark.more
def test_killed_parent_ends_its_processes_and_can_be_repeated(tmp_path: Path, digest: str) -> None:
    long = tiny_job(tmp_path / "long", **LONG)
    command = [sys.executable, "-c", PARENT, str(long.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        next(line for line in parent.stdout if line.startswith("job-progress") and line.split()[1] != "0")
        parent.kill()
    with (long.folder / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits for the child
    assert not Record(long.folder).is_finished
    assert kinds(list(run_jobs([long]))) == ["sweep-started", "job-started", "job-finished", "sweep-ended"]
    assert Record(long.folder).digest == digest


def test_second_parent_is_rejected(tmp_path: Path) -> None:
    with RecordLock(tmp_path), pytest.raises(BadInput, match=r"is in use by process \d+ on"):
        next(run_jobs([tiny_job(tmp_path / "a")]))
    assert not (tmp_path / "a").exists()


def test_jobs_are_checked_before_any_starts(tmp_path: Path) -> None:
    tiny_job(tmp_path / "b").create_record()
    with pytest.raises(BadInput, match="is the record of another run"):
        run_jobs([tiny_job(tmp_path / "a"), tiny_job(tmp_path / "b", seed=1)])
    with pytest.raises(BadInput, match="retries is -1"):
        run_jobs([tiny_job(tmp_path / "a")], retries=-1)
    assert not (tmp_path / "a").exists()
