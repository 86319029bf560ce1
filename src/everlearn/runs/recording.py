"""Playing into a record: write down what happens, checkpoint, stop cleanly, go on exactly."""

import json
import platform
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.runs import events as tell
from everlearn.runs.lock import RecordLock
from everlearn.runs.logs import START, Log
from everlearn.runs.play import Play
from everlearn.runs.record import SECONDS, STORY, Record, write_spec
from everlearn.runs.signals import StopRequests
from everlearn.runs.spec import RunSpec

INTERVAL = 60.0
"""Seconds of work that may be lost at most."""
SAVING_SHARE = 0.02
"""The part of the time that saving may take; short tasks share a checkpoint because of it."""
LEARNED_EVERY = 20
"""Of the batches of a task, which are written down."""


class Stopped(Exception):  # noqa: N818  (not an error: the run was asked to stop and is saved)
    """The run was asked to stop, is saved, and can be resumed."""


class InexactResume(UserWarning):
    """The run goes on under another torch, device or thread count; its last bits may differ."""


def record(spec: RunSpec, folder: Path | str) -> Iterator[tell.Event]:
    """Play a spec from the beginning into a new folder; tell what happens."""
    folder, spec = Path(folder), spec.completed()
    write_spec(folder, spec.to_json())
    return resume(folder)


def resume(folder: Path | str) -> Iterator[tell.Event]:
    """Play a record on from its newest checkpoint to the end; tell what happens."""
    saved = Record(folder)
    with RecordLock(saved.folder), StopRequests() as requests:
        recorder = Recorder(saved)
        try:
            for event in recorder.play.events():
                recorder.take(event)
                yield event
                if event.safe and requests.received is not None:
                    recorder.checkpoint()
                    raise Stopped(f"stopped by {requests.received.name}; go on with `everlearn resume {folder}`")
        finally:
            recorder.close()


class Recorder:
    """Listens to a play and keeps its record.

    Args:
        saved: the record to continue.
    """

    def __init__(self, saved: Record) -> None:
        self.record = saved
        self.play = Play(RunSpec.from_json((saved.folder / "spec.json").read_text("utf-8")))
        self.logs = {name: Log(saved.folder / name) for name in STORY}
        self.seconds = Log(saved.folder / SECONDS)
        self.exact = True
        self.number = self._go_back()
        self._saved_at = self._task_at = time.monotonic()
        self._saving = 0.0

    def take(self, event: tell.Event) -> None:
        """Write an event down, and save if it is time."""
        if isinstance(event, tell.Scored):
            self.logs["scores.jsonl"].append(event.to_json())
        elif not isinstance(event, tell.Scoring) and not self._is_minor(event):
            self.logs["events.jsonl"].append(event.to_json())
        if isinstance(event, tell.TaskEnded):
            self._note_seconds(event.task)
        if self._is_time(event):
            self.checkpoint()

    def checkpoint(self) -> None:
        """Save everything the rest of the run depends on."""
        started = time.monotonic()
        for log in self.logs.values():
            log.sync()
        self.number += 1
        marks = {name: log.mark() for name, log in self.logs.items()}
        tree = {"play": self.play.state(), "logs": marks, "machine": machine(), "exact": self.exact}
        self.record.checkpoints.save(self.number, tree)
        self._saved_at = time.monotonic()
        self._saving = self._saved_at - started

    def close(self) -> None:
        """Let go of the files."""
        for log in (*self.logs.values(), self.seconds):
            log.close()

    def _go_back(self) -> int:
        """Return to the newest checkpoint, or to the very beginning."""
        newest = self.record.checkpoints.newest()
        number, tree = newest if newest is not None else (0, None)
        for name, log in self.logs.items():
            log.rewind(tree["logs"][name] if tree else START)
        if tree:
            self.play.load(tree["play"])
            self.exact = bool(tree["exact"]) and self._is_same_machine(tree["machine"])
        return number

    def _is_same_machine(self, then: dict[str, Any]) -> bool:
        now = machine()
        changed = {key: (then.get(key), now[key]) for key in now if then.get(key) != now[key]}
        if changed:
            differences = ", ".join(f"{key} was {a}, is {b}" for key, (a, b) in changed.items())
            warnings.warn(f"resumed elsewhere ({differences}): not exact any more", InexactResume, stacklevel=4)
        return not changed

    def _is_minor(self, event: tell.Event) -> bool:
        return isinstance(event, tell.Learned) and event.batch % LEARNED_EVERY != 0

    def _is_time(self, event: tell.Event) -> bool:
        if isinstance(event, tell.RunEnded) or not event.safe:
            return False
        waited = time.monotonic() - self._saved_at
        is_last = isinstance(event, tell.TaskEnded) and event.task + 1 == self.play.spec.n_tasks
        at_task_end = isinstance(event, tell.TaskEnded) and waited * SAVING_SHARE >= self._saving
        return is_last or at_task_end or waited >= INTERVAL

    def _note_seconds(self, task: int) -> None:
        now = time.monotonic()
        self.seconds.append({"task": task, "seconds": round(now - self._task_at, 4)})
        self._task_at = now


def machine() -> dict[str, Any]:
    """What the exactness of a resume depends on."""
    import torch

    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.machine(),
    }
