"""Progress of a run, from its events or from its record."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from everlearn.errors import BadInput
from everlearn.runs.events import EvaluationProgress, Event, Probed, Scored, TaskEnded, TrainStep, accuracy
from everlearn.runs.run_files import damage_reported, read_log_reversed
from everlearn.runs.run_record import SCORES, SECONDS, Record

TRAINING_SHARE = 0.8
"""Assumed fraction of a task's time spent on training; the rest is evaluation."""


class Progress(NamedTuple):
    """How far a run is."""

    done: float  # tasks finished, with a fraction for the current task
    n_tasks: int | None  # tasks of the run; None before it starts
    accuracy: float | None  # accuracy of the latest evaluation, if any


def tasks_trained(step: Mapping[str, Any], epochs: int) -> float:
    """Tasks trained on after a `TrainStep`, with a fraction for the current task.

    Example:
        >>> tasks_trained({"task": 3, "epoch": 0, "batch": 4, "n_batches": 10}, epochs=1)
        3.5
    """
    done = step["epoch"] * step["n_batches"] + step["batch"] + 1
    return float(step["task"] + done / (epochs * step["n_batches"]))


def follow_progress(events: Iterator[Event], record: Record) -> Iterator[Progress]:
    """Consume the events of a run that is being recorded and yield its progress."""
    epochs, (_, n_tasks, latest) = record.spec["epochs"], read_progress(record)
    for event in events:
        n_tasks = n_tasks or read_progress(record).n_tasks
        match event:
            case TrainStep():
                trained = tasks_trained(vars(event), epochs)
                yield Progress(event.task + TRAINING_SHARE * (trained - event.task), n_tasks, latest)
            case EvaluationProgress(before_training=False):
                fraction = TRAINING_SHARE + (1 - TRAINING_SHARE) * event.done / event.total
                yield Progress(event.task + fraction, n_tasks, latest)
            case Scored() | Probed():
                latest = event.accuracy
            case TaskEnded():
                yield Progress(event.task + 1, n_tasks, latest)


def read_progress(record: Record) -> Progress:
    """Progress of a run as of its record: finished tasks only."""
    last = next(read_log_reversed(record.folder / SECONDS), None)
    first = next(record.events(), None)
    scored = next(read_log_reversed(record.folder / SCORES), None)
    with damage_reported(record.folder):
        return Progress(
            done=0 if last is None else int(last["task"]) + 1,
            n_tasks=None if first is None else int(first["n_tasks"]),
            accuracy=None if scored is None else accuracy(scored["n_correct"], scored["n_images"]),
        )


class ProgressReader:
    """Polls the record of a run in another process; reads it only if it has grown."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._size = -1

    def poll(self) -> Progress | None:
        """The progress, if a task has ended since the last call."""
        path = self._record.folder / SECONDS
        size = path.stat().st_size if path.exists() else 0
        if size == self._size:
            return None
        try:
            progress = read_progress(self._record)
        except BadInput:
            return None  # being written: the next poll reads it; damaged: the run itself reports it
        self._size = size
        return progress
