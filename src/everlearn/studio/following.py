"""A record, read as it grows."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.runs.records import EVENTS, SCORES, SECONDS, Record
from everlearn.studio.curves import CURVES, Curves, Points
from everlearn.studio.thinning import COLUMNS, thinned

LOGS = (EVENTS, SCORES, SECONDS)
MOST = 8 * COLUMNS
"""Points of a curve told one by one before the whole of it is told anew in fewer."""


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
        try:  # as one list, which is read twice as fast as line by line
            told: list[dict[str, Any]] = json.loads(b"[" + whole.replace(b"\n", b",") + b"]")
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{self._path.name} of this record is damaged: {error}") from None
        return told


class Follower:
    """What a record has to say since it was last asked, in no more points than the eye can tell apart.

    Args:
        record: the record; it may be playing.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self._begin()

    def news(self) -> tuple[bool, Points]:
        """Whether everything begins anew, and the points since the last time."""
        is_long = max(self._told.values(), default=0) > MOST
        is_new = is_long or any(tail.was_cut for tail in self._tails.values())
        if is_new:
            self._begin()
        points = {name: thinned(some) for name, some in self.everything().items()}
        self._told.update({name: len(some) for name, some in points.items()})
        return is_new, points

    def everything(self) -> Points:
        """All points since the last time, however many."""
        points: Points = {}
        for name, tail in self._tails.items():
            for line in tail.lines():
                for curve, some in self._curves.take(name, line).items():
                    points.setdefault(curve, []).extend(point for point in some if math.isfinite(point[1]))
        return points

    def _begin(self) -> None:
        self._told: Counter[str] = Counter()
        self._curves = Curves(self.record.spec["epochs"])
        self._tails = {name: Tail(self.record.folder / name) for name in LOGS}


def curves(record: Record) -> Points:
    """All points of a record."""
    points = Follower(record).everything()
    return {name: points.get(name, []) for name in CURVES}
