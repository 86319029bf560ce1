"""Jobs through submitit, with its executor for this machine in place of Slurm."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record
from everlearn.runs.events import Event, JobFailed, JobProgress, SweepEnded
from everlearn.runs.sweep import Capacity, run_jobs
from everlearn.runs.sweep.slurm_executor import FOLDER, on_slurm, run_command

from .jobs_for_tests import LONG, failing_job, process_of, run_here, tiny_job

pytest.importorskip("submitit", reason="needs submitit: pip install 'everlearn[slurm]'")
LOCAL = on_slurm(cluster="local")


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digest of the uninterrupted long run."""
    return run_here(tiny_job(tmp_path_factory.mktemp("uninterrupted") / "long", **LONG)).digest


@pytest.mark.more
def test_jobs_have_the_results_of_single_runs(tmp_path: Path, digest: str) -> None:
    """One job is killed after its first checkpoint, one fails."""
    long, failing = tiny_job(tmp_path / "long", **LONG), failing_job(tmp_path / "failing")
    events: list[Event] = []
    killed = False
    for event in run_jobs([long, failing], capacity=Capacity(workers=2), executor=LOCAL, retries=1):
        if isinstance(event, JobProgress) and any(long.folder.glob("checkpoint/*.sha256")) and not killed:
            os.kill(process_of(long.folder), signal.SIGKILL)
            killed = True
        events.append(event)
    last = events[-1]
    assert isinstance(last, SweepEnded)
    assert (last.n_finished, last.n_failed) == (1, 1)
    assert Record(long.folder).digest == digest
    reasons = [event.reason for event in events if isinstance(event, JobFailed) and event.job == "failing"]
    assert all("'/nowhere', which is not a folder" in reason for reason in reasons)
    assert not list((tmp_path / FOLDER).glob("stop-*"))


@pytest.mark.more
def test_stop_signal_saves_and_ends_jobs(tmp_path: Path, digest: str) -> None:
    long, events = tiny_job(tmp_path / "long", **LONG), list[Event]()
    for event in run_jobs([long], capacity=Capacity(workers=1), executor=LOCAL):
        if isinstance(event, JobProgress) and event.done and not any(map(_has_progress, events)):
            signal.raise_signal(signal.SIGINT)
        events.append(event)
    assert not Record(long.folder).is_finished
    assert Record(long.folder).checkpoints.numbers()
    assert not [
        each for each in psutil.process_iter(["cmdline"]) if str(long.folder) in (each.info["cmdline"] or ())
    ]
    list(run_jobs([long], executor=LOCAL))
    assert Record(long.folder).digest == digest


def _has_progress(event: Event) -> bool:
    return isinstance(event, JobProgress) and event.done >= 1


def test_threads_are_those_of_the_capacity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the environment of the job names another number."""
    started: list[dict[str, str]] = []
    start = subprocess.Popen

    def observed(*arguments: Any, env: dict[str, str], **options: Any) -> Any:
        started.append(env)
        return start(*arguments, env=env, **options)

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr("subprocess.Popen", observed)
    assert run_command(("--version",), 2, str(tmp_path), str(tmp_path / "stop")) == (0, "")
    assert started[0]["OMP_NUM_THREADS"] == "2"


def test_without_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        BadInput, match="there is no sbatch on this machine; run this command on a login node"
    ):
        on_slurm()
