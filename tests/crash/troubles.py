"""What a job may ask to go wrong in the process that does it."""

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
from everlearn.runs import evaluate, loop, recorder, signals, storage
from everlearn.runs.events import Event
from everlearn.streams import TaskView, scenario_stream
from everlearn.streams.exports import staging
from tests.crash.disks import CrashingDisk, FullDisk, KeepingDisk, WatchedDisk
from tests.crash.power import RememberingDisk

PHASES: dict[str, tuple[Any, str]] = {
    "learning": (loop.Play, "_checked"),
    "scoring": (evaluate, "answer"),
    "making a task": (scenario_stream.ScenarioStream, "_load_split"),
    "saving": (storage.Checkpoints, "save"),
    "exporting": (staging.Desk, "_write"),
}
"""Of each phase, something that happens in it again and again."""

TOO_MUCH = 1 << 50

marks: dict[str, Any] = {}
"""What the process can tell of the trouble it met: which phase it was in, and its processor time then."""


def prepare(job: dict[str, Any]) -> None:
    """Make a run save often, and go wrong as the job says."""
    recorder.INTERVAL, recorder.SAVING_SHARE = 0.0, 1e12
    if "save_every" in job:
        saves = count(1)
        recorder.Recorder._is_time = lambda self, event: next(saves) % job["save_every"] == 0
    if "ticks" in job:  # equal runs write equal seconds
        recorder.time = SimpleNamespace(monotonic=count().__next__)
    files.disk = _disk(job)
    if "signal_in" in job:
        _send_in_phase(job["signal_in"], job["signal"], job["n_signals"])
    if "clock_jumps" in job:
        jumps = count()
        time.time = lambda: (-1.0) ** next(jumps) * 86_400.0 * next(jumps)
    signals.PATIENCE = job.get("patience", 3600.0)  # on a busy machine any step may take long
    if "deaf_in" in job:
        _make_deaf(job["deaf_in"], job["signal"])
    if "threads" in job:
        torch.set_num_threads(job["threads"])
    if "temp" in job:
        os.environ["TMPDIR"], tempfile.tempdir = job["temp"], None


def happens(job: dict[str, Any], event: Event) -> None:
    """Something was told: the moment for troubles that wait for it."""
    if event.kind == "run-started" and "signal_after" in job:
        _send_after(job["signal_after"], job["signal"])
    here = [event.kind, getattr(event, "task", None)]
    if job.get("die_at") == here:
        os.kill(os.getpid(), signal.SIGKILL)
    if job.get("memory_ends_at") == here:
        _need_too_much_memory()


def _need_too_much_memory() -> None:
    """Let every step ask for more than there is; how a real limit shows depends on who meets it first."""
    Naive.learn = lambda self, batch: {"bytes": float(torch.empty(TOO_MUCH).numel())}


def _disk(job: dict[str, Any]) -> files.Disk:
    folder = Path(job["folder"])
    if "crash_at" in job:
        return CrashingDisk(job["crash_at"], job["mode"])
    if "full_at" in job:
        return FullDisk(job["full_at"])
    if "keep" in job:
        return KeepingDisk(folder, Path(job["keep"]))
    if "remember" in job:
        return RememberingDisk(Path(job["remember"]), folder.parent)
    return WatchedDisk()


def _send_in_phase(phase: str, number: int, n_signals: int) -> None:
    """Send this process a signal in the third call of what happens in a phase."""
    owner, name = PHASES[phase]
    original, calls = getattr(owner, name), count(1)

    def marked(self: Any, *args: Any) -> Any:
        if next(calls) == 3:
            _mark(phase)
            for _ in range(n_signals):
                signal.raise_signal(number)
        return original(self, *args)

    setattr(owner, name, marked)


def _make_deaf(task: int, number: int) -> None:
    """Let the last step of a task never end, and send this process a signal there."""

    def end(self: Naive, view: TaskView) -> None:
        if view.index == task:
            _mark("a long step")
            signal.raise_signal(number)
            while True:
                pass

    Naive.end = end  # type: ignore[method-assign]


def _send_after(seconds: float, number: int) -> None:
    """Send this process a signal when it has worked for so long, wherever it is then."""

    def send(*_: Any) -> None:
        _mark("anywhere")
        signal.raise_signal(number)

    signal.signal(signal.SIGPROF, send)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _mark(phase: str) -> None:
    marks.update(hit=phase, cpu_at=time.process_time())
