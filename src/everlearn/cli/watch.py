"""A progress bar that listens to a run."""

from collections.abc import Iterator

from everlearn.cli.answer import Progress
from everlearn.runs import Record
from everlearn.runs import events as tell

LEARNING = 0.8
"""The part of a task's time that learning is taken for; scoring is the rest."""


def watch(story: Iterator[tell.Event], record: Record, progress: Progress) -> None:
    """Play a story to its end; tell how far it is, and how good the learner was when last judged."""
    epochs, accuracy, n_tasks = record.spec["epochs"], _last_accuracy(record), 0
    for event in story:
        n_tasks = n_tasks or _n_tasks(record)
        match event:
            case tell.Learned():
                done = event.epoch * event.n_batches + event.batch + 1
                progress(event.task + LEARNING * done / (epochs * event.n_batches), n_tasks, accuracy)
            case tell.Scoring():
                share = LEARNING + (1 - LEARNING) * event.done / event.total
                progress(event.task + share, n_tasks, accuracy)
            case tell.Scored():
                accuracy = _word(event.accuracy)
            case tell.Probed():
                accuracy = f"objects {event.accuracy:.3f}"
            case tell.TaskEnded():
                progress(event.task + 1, n_tasks, accuracy)


def _n_tasks(record: Record) -> int:
    return int(next(record.events())["n_tasks"])


def _last_accuracy(record: Record) -> str:
    """Of a run that is resumed, what it reached before."""
    word = ""
    for row in record.scores():
        word = _word(sum(row["correct"]) / max(1, sum(row["total"])))
    return word


def _word(accuracy: float) -> str:
    return f"accuracy {accuracy:.3f}"
