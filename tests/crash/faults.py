"""Faults that a job can request in its process."""

import os
import signal
import tempfile
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from everlearn import files
from everlearn.learners.naive import Naive
from everlearn.runs import evaluate, loop, phases, recorder, run_files
from everlearn.runs.events import Event
from everlearn.streams import TaskView, scenario_stream
from everlearn.streams.exports import staging
from tests.crash.disks import CountingDisk, CrashingDisk, FullDisk, SnapshotDisk
from tests.crash.power_loss import JournalingDisk

PHASES: dict[str, tuple[Any, str]] = {
    "training": (loop.RunState, "_check_finite"),
    "evaluation": (evaluate, "predict"),
    "rendering": (scenario_stream.ScenarioStream, "_load"),
    "saving": (run_files.Checkpoints, "save"),
    "exporting": (staging.StagingArea, "_write_part"),
}
"""For each phase, a function that is called in it several times."""

TOO_MUCH = 1 << 50

marks: dict[str, Any] = {}
"""Phase and CPU time at which a signal was sent."""


def inject(job: dict[str, Any]) -> None:
    """Save checkpoints often, and install the faults of a job."""
    recorder.CHECKPOINT_INTERVAL, recorder.MAX_CHECKPOINT_OVERHEAD = 0.0, 1e12
    if "save_every" in job:
        saves = count(1)
        recorder.Recorder._is_due = lambda self, event: next(saves) % job["save_every"] == 0
    if "ticks" in job:  # equal runs log equal seconds
        recorder.time = phases.time = SimpleNamespace(
            monotonic=count().__next__, process_time=count().__next__
        )
    files.disk = _disk(job)
    if "signal_in" in job:
        _send_in_phase(job["signal_in"], job["signal"], job["n_signals"])
    if "clock_jumps" in job:
        jumps = count()
        time.time = lambda: (-1.0) ** next(jumps) * 86_400.0 * next(jumps)
    recorder.STEP_TIMEOUT = job.get("step_timeout", 3600.0)  # on a busy machine any step may take long
    if "endless_step_in" in job:
        _add_endless_step(job["endless_step_in"], job["signal"])
    if "threads" in job:
        torch.set_num_threads(job["threads"])
    if "temp" in job:
        os.environ["TMPDIR"], tempfile.tempdir = job["temp"], None


def on_event(job: dict[str, Any], event: Event) -> None:
    """Faults that happen at an event."""
    if event.kind == "run-started" and "signal_after" in job:
        _send_after(job["signal_after"], job["signal"])
    here = [event.kind, getattr(event, "task", None)]
    if job.get("die_at") == here:
        os.kill(os.getpid(), signal.SIGKILL)
    if job.get("out_of_memory_at") == here:
        _exceed_memory()


def _exceed_memory() -> None:
    """Let every step allocate more memory than exists."""
    Naive.learn = lambda self, batch: {"bytes": float(torch.empty(TOO_MUCH).numel())}


def _disk(job: dict[str, Any]) -> files.Disk:
    folder = Path(job["folder"])
    if "crash_at" in job:
        return CrashingDisk(job["crash_at"], job["mode"])
    if "full_at" in job:
        return FullDisk(job["full_at"])
    if "snapshots" in job:
        return SnapshotDisk(folder, Path(job["snapshots"]))
    if "journal" in job:
        return JournalingDisk(Path(job["journal"]), folder.parent)
    return CountingDisk()


def _send_in_phase(phase: str, number: int, n_signals: int) -> None:
    """Send signals in the third call of the function of a phase."""
    owner, name = PHASES[phase]
    original, calls = getattr(owner, name), count(1)

    def marked(self: Any, *args: Any) -> Any:
        if next(calls) == 3:
            _mark(phase)
            for _ in range(n_signals):
                signal.raise_signal(number)
        return original(self, *args)

    setattr(owner, name, marked)


def _add_endless_step(task: int, number: int) -> None:
    """Let the end of a task never return, and send a signal there."""

    def end(self: Naive, view: TaskView) -> None:
        if view.index == task:
            _mark("endless step")
            signal.raise_signal(number)
            while True:
                pass

    Naive.end = end  # type: ignore[method-assign]


def _send_after(seconds: float, number: int) -> None:
    """Send a signal after some CPU time."""

    def send(*_: Any) -> None:
        _mark("any")
        signal.raise_signal(number)

    signal.signal(signal.SIGPROF, send)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _mark(phase: str) -> None:
    marks.update(hit=phase, cpu_at=time.process_time())
