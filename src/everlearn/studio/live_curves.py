"""A record, read as it grows."""

import bisect
import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.errors import BadInput
from everlearn.runs.run_record import EVENTS, SCORES, SECONDS, Record

Point = tuple[float, float]

COLUMNS = 1000
"""Columns of pixels that a curve is drawn in; more do not fit on a screen beside one another."""


def thinned(points: Sequence[Point], columns: int = COLUMNS) -> list[Point]:
    """The lowest and the highest point of each column, in order, with both ends: no peak is lost.

    Args:
        points: a curve, from left to right.
        columns: equal parts of its length; a curve of at most two points for each is left as it is.

    Example:
        >>> curve = [(x, 9.0 if x == 42 else 0.0) for x in range(100)]
        >>> thinned(curve, columns=2)
        [(0, 0.0), (42, 9.0), (50, 0.0), (99, 0.0)]
    """
    if len(points) <= 2 * columns:
        return list(points)
    x, y = np.array(points, np.float64).T
    length = x[-1] - x[0] or 1.0
    column = np.minimum((x - x[0]) / length * columns, columns - 1).astype(np.int64)
    by_height = np.lexsort((y, column))
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    lowest, highest = by_height[starts], by_height[np.append(starts[1:], len(x)) - 1]
    kept = {0, len(points) - 1, *lowest.tolist(), *highest.tolist()}
    return [points[index] for index in sorted(kept)]


def within(points: Sequence[Point], low: float, high: float) -> list[Point]:
    """The points of a part of a curve, with one more on each side, so that its lines go on to the edge.

    Example:
        >>> within([(1, 5.0), (2, 6.0), (3, 7.0), (4, 8.0)], 2.5, 3.5)
        [(2, 6.0), (3, 7.0), (4, 8.0)]
    """
    moments = [x for x, _ in points]
    first, end = bisect.bisect_left(moments, low), bisect.bisect_right(moments, high)
    return list(points[max(0, first - 1) : end + 1])


CURVES = {
    "accuracy": "accuracy on all tasks seen",
    "forgetting": "forgetting",
    "loss": "loss",
    "seconds": "seconds per task",
    "bytes": "bytes held",
}
"""What is drawn, and what it is called."""

Points = dict[str, list[tuple[float, float]]]
"""By curve, what was measured (y) when so many tasks were learned (x)."""


class Curves:
    """Takes the lines of a record's logs in order and gives the points they add.

    Args:
        epochs: passes over each task, which say where inside a task a loss belongs.

    Example:
        >>> curves = Curves(epochs=1)
        >>> row = {"task": 0, "tasks": [0], "correct": [3], "total": [4], "batch": None}
        >>> curves.take("scores.jsonl", row)
        {'accuracy': [(1, 0.75)]}
    """

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._best: dict[int, float] = defaultdict(lambda: -math.inf)

    def take(self, log: str, line: dict[str, Any]) -> Points:
        """The points that one line adds; none if it adds none."""
        if log == SCORES:
            return self._scored(line) if line["batch"] is None else {}
        if log == SECONDS:
            return {"seconds": [(line["task"] + 1, line["seconds"])]}
        if log == EVENTS and line["event"] == "learned":
            return self._learned(line)
        if log == EVENTS and line["event"] == "task-ended":
            return {"bytes": [(line["task"] + 1, line["weights_bytes"] + line["memory_bytes"])]}
        return {}

    def _scored(self, row: dict[str, Any]) -> Points:
        after, points = row["task"], Points()
        pairs = zip(row["tasks"], zip(row["correct"], row["total"], strict=True), strict=True)
        scores = {task: right / total for task, (right, total) in pairs if total}
        seen = [score for task, score in scores.items() if task <= after]
        fallen = [self._best[task] - score for task, score in scores.items() if task < after]
        if seen:
            points["accuracy"] = [(after + 1, math.fsum(seen) / len(seen))]
        if known := [fall for fall in fallen if not math.isinf(fall)]:
            points["forgetting"] = [(after + 1, math.fsum(known) / len(known))]
        for task, score in scores.items():
            self._best[task] = max(self._best[task], score)
        return points

    def _learned(self, event: dict[str, Any]) -> Points:
        """The first loss that a learner names is the one it minimises."""
        if not event["losses"]:
            return {}
        return {"loss": [(moment(event, self._epochs), next(iter(event["losses"].values())))]}


def moment(event: dict[str, Any], epochs: int) -> float:
    """How many tasks were learned when a batch was, with a part for the one under way.

    Example:
        >>> moment({"task": 3, "epoch": 0, "batch": 4, "n_batches": 10}, epochs=1)
        3.5
    """
    done = event["epoch"] * event["n_batches"] + event["batch"] + 1
    return float(event["task"] + done / (epochs * event["n_batches"]))


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
