"""How far a run is, read from the ends of its logs."""

from typing import NamedTuple

from everlearn.errors import BadInput
from everlearn.runs.records import SCORES, SECONDS, Record, lines_backwards


class Reading(NamedTuple):
    """How far, of how far, and how good when last judged."""

    done: int
    n_tasks: int | None
    accuracy: float | None


class Gauge:
    """Looks at a record that somebody else is writing, and reads it only when it has grown.

    Args:
        record: the record.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._size = -1

    def news(self) -> Reading | None:
        """The state of the run, if another task has ended since the last look."""
        path = self._record.folder / SECONDS
        size = path.stat().st_size if path.exists() else 0
        if size == self._size:
            return None
        try:
            reading = read(self._record)
        except BadInput:
            return None  # written at this moment: there is another look; damaged: its player complains
        self._size = size
        return reading


def read(record: Record) -> Reading:
    """The state of a run."""
    last = next(lines_backwards(record.folder / SECONDS), None)
    first = next(record.events(), None)
    return Reading(
        done=0 if last is None else int(last["task"]) + 1,
        n_tasks=None if first is None else int(first["n_tasks"]),
        accuracy=_accuracy(record),
    )


def _accuracy(record: Record) -> float | None:
    scored = next(lines_backwards(record.folder / SCORES), None)
    return None if scored is None else sum(scored["correct"]) / max(1, sum(scored["total"]))
