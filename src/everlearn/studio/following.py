"""A record, read as it grows."""

import json
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.runs.records import EVENTS, SCORES, SECONDS, Record
from everlearn.studio.curves import CURVES, Curves, Points

LOGS = (EVENTS, SCORES, SECONDS)


class Tail:
    """The lines of a log that were not read yet.

    Args:
        path: the log; it may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._place = path, 0

    @property
    def was_cut(self) -> bool:
        """Whether what was read is there no more, because the run went back to a checkpoint."""
        return self._path.exists() and self._path.stat().st_size < self._place

    def lines(self) -> list[dict[str, Any]]:
        """The new objects; a last line that is only half there waits for its other half."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as log:
            log.seek(self._place)
            whole, newline, _ = log.read().rpartition(b"\n")
        self._place += len(whole) + len(newline)
        try:
            return [json.loads(line) for line in whole.split(b"\n") if line]
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{self._path.name} of this record is damaged: {error}") from None


class Follower:
    """What a record has to say since it was last asked.

    Args:
        record: the record; it may be playing.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self._begin()

    def news(self) -> tuple[bool, Points]:
        """Whether everything begins anew, and the points since the last time."""
        is_new = any(tail.was_cut for tail in self._tails.values())
        if is_new:
            self._begin()
        points: Points = {}
        for name, tail in self._tails.items():
            for line in tail.lines():
                for curve, some in self._curves.take(name, line).items():
                    points.setdefault(curve, []).extend(some)
        return is_new, points

    def _begin(self) -> None:
        self._curves = Curves(self.record.spec["epochs"])
        self._tails = {name: Tail(self.record.folder / name) for name in LOGS}


def curves(record: Record) -> Points:
    """All points of a record."""
    points = Follower(record).news()[1]
    return {name: points.get(name, []) for name in CURVES}
