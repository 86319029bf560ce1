"""Curves of a record, read while its logs grow, and downsampled to the resolution of a screen."""

import bisect
import json
import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs.events import RunEnded
from everlearn.runs.progress import tasks_trained
from everlearn.runs.run_files import damage_reported
from everlearn.runs.run_record import EVENTS, SCORES, SECONDS, Record

Point = tuple[float, float]
Curves = dict[str, list[Point]]
"""Points of each curve: x is the number of tasks trained on, y the value."""

CURVES = {
    "accuracy": "accuracy on all tasks seen",
    "forgetting": "forgetting",
    "loss": "loss",
    "seconds": "seconds per task",
    "bytes": "memory (bytes)",
}
"""Curves and their axis labels."""
TOTALS = ("images", "flops", "total_seconds")
"""Totals since the start of a run, over which curves can be plotted instead of tasks."""
POLL_INTERVAL = 0.1
"""Seconds between two reads of records that may be growing."""
N_COLUMNS = 1000
"""Pixel columns of a plot."""
MAX_HELD = 8 * N_COLUMNS
"""Points of a live curve from which on it is downsampled, so that memory stays bounded."""
BLOCK_BYTES = 1 << 18
"""Bytes of a log that are parsed at a time; as Python objects they need ten times as much memory."""


def read_curves(record: Record) -> Curves:
    """All points of all curves of a record."""
    curves = CurveReader(record).read()
    return {name: curves.get(name, []) for name in CURVES}


def read_totals(record: Record) -> Curves:
    """The totals of a record after each task."""
    curves = CurveReader(record).read()
    return {name: curves.get(name, []) for name in TOTALS}


class LiveCurves:
    """New points of a record that may be growing, for one client."""

    def __init__(self, record: Record, shared: "SharedCurves | None" = None) -> None:
        self.shared = shared or SharedCurves(record)
        self._generation: int | None = None
        self._n_sent: Counter[str] = Counter()

    def update(self) -> tuple[bool, Curves]:
        """Whether all curves start again, and the new points.

        Whole curves are downsampled; new points are not, even if there are many for a slow client.
        """
        generation, curves = self.shared.since(self._generation, self._n_sent)
        before, self._generation = self._generation, generation
        if before != generation:
            self._n_sent = Counter()
        self._n_sent.update({name: len(points) for name, points in curves.items()})
        if before != generation:
            curves = {name: downsample(points) for name, points in curves.items()}
        return before not in (None, generation), curves


class SharedCurves:
    """The points of a record that may be growing, read once for all clients.

    A new generation of points begins when long curves are downsampled, and when a log was truncated, so that
    all curves start again. The logs are read at most every `min_interval` seconds.
    """

    def __init__(self, record: Record, min_interval: float = 0.0) -> None:
        self.record, self.is_running = record, False
        self._reader, self._lock = CurveReader(record), threading.Lock()
        self._generation, self._curves, self._error = 0, Curves(), ""
        self._min_interval, self._read_at = min_interval, -math.inf

    @property
    def is_finished(self) -> bool:
        """Whether the last event that was read is the end of the run."""
        return self._reader.is_finished

    def since(self, generation: int | None, n_sent: Mapping[str, int]) -> tuple[int, Curves]:
        """The current generation, and the points that were not sent; all points if it has changed."""
        with self._lock:
            if time.monotonic() >= self._read_at + self._min_interval:
                self._read_at = time.monotonic()
                self._refresh()
            if self._error:
                raise BadInput(self._error)
            known = n_sent if generation == self._generation else {}
            new = {name: points[known.get(name, 0) :] for name, points in self._curves.items()}
            return self._generation, {name: points for name, points in new.items() if points}

    def _refresh(self) -> None:
        self.is_running = lock_holder(self.record.folder) is not None
        if self._reader.was_truncated:
            self._reader.restart()
            self._curves, self._error = {}, ""
            self._generation += 1
        for name, points in self._new_points().items():
            self._curves.setdefault(name, []).extend(points)
        if max(map(len, self._curves.values()), default=0) > MAX_HELD:
            self._curves = {name: downsample(points) for name, points in self._curves.items()}
            self._generation += 1

    def _new_points(self) -> Curves:
        """The new points; none after an error in a log, which is raised until the log is replaced."""
        try:
            return {} if self._error else self._reader.read(MAX_HELD)
        except BadInput as error:
            self._error = str(error)
            return {}


class CurveReader:
    """Reads the points of a record from its logs."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.restart()

    @property
    def was_truncated(self) -> bool:
        """Whether lines that were read are gone."""
        return any(log.was_truncated for log in self._logs.values())

    def read(self, max_held: int | None = None) -> Curves:
        """All new points; if there are more than `max_held`, those read so far are downsampled in between."""
        curves: Curves = {}
        with damage_reported(self.record.folder):
            for curve, (x, y) in self._points():
                if math.isfinite(y):
                    points = curves.setdefault(curve, [])
                    points.append((x, y))
                    if max_held and len(points) > max_held:
                        points[:] = downsample(points, max_held // 4)
        return curves

    def restart(self) -> None:
        """Read from the start again."""
        self.is_finished = False
        self._total: dict[str, float] = defaultdict(float)
        self._best: dict[int, float] = defaultdict(lambda: -math.inf)
        self._logs = {name: LogReader(self.record.folder / name) for name in (EVENTS, SCORES, SECONDS)}

    def _points(self) -> Iterator[tuple[str, Point]]:
        """The new points, with the names of their curves."""
        for name, log in self._logs.items():
            for line in log.read():
                yield from self._measure(name, line).items()

    def _measure(self, log: str, line: dict[str, Any]) -> dict[str, Point]:
        """The points that one line of a log adds."""
        if log == SCORES:
            return self._scores(line) if line["n_batches"] is None else {}
        if log == SECONDS:
            self._total["seconds"] += line["seconds"]
            x = line["task"] + 1
            return {"seconds": (x, line["seconds"]), "total_seconds": (x, self._total["seconds"])}
        self.is_finished = line["event"] == RunEnded.kind
        if line["event"] == "train-step" and line["losses"] and not line["losses"].get("skipped"):
            # The loss that a learner minimizes is the first one.
            x = tasks_trained(line, self.record.spec["epochs"])
            return {"loss": (x, next(iter(line["losses"].values())))}
        if line["event"] == "task-ended":
            self._total["images"] += line["n_images"]
            n_bytes = line["weights_bytes"] + line["memory_bytes"]
            values = {"bytes": n_bytes, "images": self._total["images"], "flops": line["flops"]}
            return {name: (line["task"] + 1, value) for name, value in values.items()}
        return {}

    def _scores(self, row: dict[str, Any]) -> dict[str, Point]:
        """Mean accuracy on seen tasks, and the mean drop from the best accuracy on earlier tasks."""
        task, points = row["task"], {}
        counts = zip(row["eval_tasks"], row["n_correct"], row["n_images"], strict=True)
        scores = {index: n_correct / n_images for index, n_correct, n_images in counts if n_images}
        seen = [score for index, score in scores.items() if index <= task]
        drops = [self._best[index] - score for index, score in scores.items() if index < task]
        if seen:
            points["accuracy"] = (task + 1, math.fsum(seen) / len(seen))
        if known := [drop for drop in drops if not math.isinf(drop)]:
            points["forgetting"] = (task + 1, math.fsum(known) / len(known))
        for index, score in scores.items():
            self._best[index] = max(self._best[index], score)
        return points


class LogReader:
    """Reads the new lines of a log."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    @property
    def was_truncated(self) -> bool:
        """Whether lines that were read are gone, because the run resumed from a checkpoint."""
        return self._path.exists() and self._path.stat().st_size < self._offset

    def read(self) -> Iterator[dict[str, Any]]:
        """The new lines, in blocks, because logs may be large; an incomplete last line is left for later."""
        if not self._path.exists():
            return
        with self._path.open("rb") as log:
            log.seek(self._offset)
            while lines := log.readlines(BLOCK_BYTES):
                complete = lines if lines[-1].endswith(b"\n") else lines[:-1]
                self._offset += sum(map(len, complete))
                yield from self._parse(complete)
                if len(complete) < len(lines):
                    return  # the rest of the last line may be written at any moment

    def _parse(self, lines: list[bytes]) -> list[dict[str, Any]]:
        try:  # one list parses twice as fast as single lines
            parsed: list[dict[str, Any]] = json.loads(b"[" + b",".join(lines) + b"]")
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{self._path.name} of this record is damaged: {error}") from None
        return parsed


def downsample(points: Sequence[Point], n_columns: int = N_COLUMNS) -> list[Point]:
    """The minimum and the maximum of each pixel column, and both ends, so that all peaks remain.

    Example:
        >>> curve = [(x, 9.0 if x == 42 else 0.0) for x in range(100)]
        >>> downsample(curve, n_columns=2)
        [(0, 0.0), (42, 9.0), (50, 0.0), (99, 0.0)]
    """
    if len(points) <= 2 * n_columns:
        return list(points)
    x, y = np.array(points, np.float64).T
    width = x[-1] - x[0] or 1.0
    column = np.minimum((x - x[0]) / width * n_columns, n_columns - 1).astype(np.int64)
    order = np.lexsort((y, column))
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    lowest, highest = order[starts], order[np.append(starts[1:], len(x)) - 1]
    kept = {0, len(points) - 1, *lowest.tolist(), *highest.tolist()}
    return [points[index] for index in sorted(kept)]


def crop(points: Sequence[Point], low: float, high: float) -> list[Point]:
    """The points between two values of x and one more on each side, so that lines reach the edges.

    Example:
        >>> crop([(1, 5.0), (2, 6.0), (3, 7.0), (4, 8.0)], 2.5, 3.5)
        [(2, 6.0), (3, 7.0), (4, 8.0)]
    """
    xs = [x for x, _ in points]
    first, end = bisect.bisect_left(xs, low), bisect.bisect_right(xs, high)
    return list(points[max(0, first - 1) : end + 1])
