"""Curves of several records for one figure: over another axis, grouped by settings, or as differences."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.plotting.axes import PlotSeries
from everlearn.rng import FloatArray
from everlearn.runs import Record
from everlearn.studio.live_curves import Point, crop, downsample, read_curves, read_totals

Axis = Literal["tasks", "images", "flops", "seconds"]
AXES: dict[Axis, tuple[str, str]] = {
    "tasks": ("", "tasks trained"),
    "images": ("images", "images"),
    "flops": ("flops", "FLOPs"),
    "seconds": ("total_seconds", "seconds"),
}
"""For each axis, the curve of totals that it shows, and its title."""


@dataclass(frozen=True)
class CurveView:
    """Content of a figure of curves."""

    curve: str  # one of `CURVES`
    axis: Axis = "tasks"  # of x
    x_range: tuple[float, float] | None = None  # in units of the axis; None for the whole axis
    is_log: bool = False  # whether y is logarithmic
    is_grouped: bool = False  # whether runs that differ in their seeds form one line
    baseline: Path | None = None  # folder of a record whose line is subtracted from all others


class Line(NamedTuple):
    """One line of a figure."""

    title: str
    series: PlotSeries
    seeds: tuple[PlotSeries, ...]  # the curve of each run, if there are several


def group_key(spec: Mapping[str, Any]) -> str:
    """A key that runs share if they differ in their seeds only.

    Example:
        >>> spec = {"seed": 0, "stream": {"seed": 0, "stream": "mnist"}, "learner": {"name": "er"}}
        >>> group_key(spec) == group_key({**spec, "seed": 1})
        True
    """
    stream = {name: value for name, value in spec["stream"].items() if name != "seed"}
    settings = {**spec, "stream": stream, "seed": None}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def lines(records: Sequence[Record], view: CurveView) -> list[Line]:
    """The lines of a figure; without the baseline, if one is given."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        key = group_key(record.spec) if view.is_grouped else str(record.folder)
        groups.setdefault(key, []).append(record)
    base = next(
        (key for key, some in groups.items() if view.baseline in [record.folder for record in some]), None
    )
    drawn = {key: _line(some, view) for key, some in groups.items()}
    if base is None:
        return list(drawn.values())
    return [_minus(line, drawn[base]) for key, line in drawn.items() if key != base]


def _line(records: Sequence[Record], view: CurveView) -> Line:
    """The curve of one record, or the mean and the range over records.

    Over another axis than tasks, the mean is at the mean total after each number of tasks.
    """
    points = [read_curves(record)[view.curve] for record in records]
    totals = [_totals(record, view.axis) for record in records]
    seeds = tuple(_series(_along(*pair), view) for pair in zip(points, totals, strict=True))
    title = _title(records, view)
    if len(records) == 1:
        return Line(title, seeds[0], ())
    tasks = [_series(each, CurveView(view.curve)) for each in points]
    x, mean, low, high = _mean(tasks)
    if totals[0]:
        shown = _mean([_series(each, CurveView(view.curve)) for each in totals])
        x = np.interp(x, shown.x, shown.mean, right=np.nan)
    inside = _inside(x, view.x_range)
    return Line(title, PlotSeries(x[inside], mean[inside], low[inside], high[inside]), seeds)


def _mean(curves: Sequence[PlotSeries]) -> PlotSeries:
    """The mean, the lowest and the highest value, where all curves are defined."""
    values = np.array([_at(each, curves[0].x) for each in curves])
    known = ~np.isnan(values).any(axis=0)
    x, values = curves[0].x[known], values[:, known]
    return PlotSeries(x, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def _inside(x: FloatArray, x_range: tuple[float, float] | None) -> npt.NDArray[np.bool_]:
    low, high = x_range or (-np.inf, np.inf)
    return (x >= low) & (x <= high)


def _title(records: Sequence[Record], view: CurveView) -> str:
    """The name of a record or the learner of a group."""
    first = records[0]
    if view.is_grouped and len(records) > 1:
        return f"{first.spec['learner']['name']} ({len(records)} seeds)"
    return first.name or first.folder.name


def _minus(line: Line, base: Line) -> Line:
    def difference(each: PlotSeries) -> PlotSeries:
        subtracted = _at(base.series, each.x)
        return PlotSeries(each.x, each.mean - subtracted, each.low - subtracted, each.high - subtracted)

    title = f"{line.title} minus {base.title}"
    return Line(title, difference(line.series), tuple(map(difference, line.seeds)))


def _at(series: PlotSeries, x: FloatArray) -> FloatArray:
    """The values of a line at x; NaN outside."""
    if not len(series.x):
        return np.full(len(x), np.nan)
    return np.interp(x, series.x, series.mean, left=np.nan, right=np.nan)


def _totals(record: Record, axis: Axis) -> list[Point]:
    """The total after each number of tasks; empty for the axis of tasks."""
    name = AXES[axis][0]
    return [(0.0, 0.0), *read_totals(record)[name]] if name else []


def _along(points: Sequence[Point], totals: Sequence[Point]) -> Sequence[Point]:
    """A curve over totals; points of a task that has not ended have none."""
    if not totals:
        return points
    tasks, values = zip(*totals, strict=True)
    return [(float(np.interp(x, tasks, values)), y) for x, y in points if x <= tasks[-1]]


def _series(points: Sequence[Point], view: CurveView) -> PlotSeries:
    shown = downsample(crop(points, *view.x_range) if view.x_range else points)
    x, y = np.array(shown, np.float64).reshape(-1, 2).T
    no_band = np.full(len(x), np.nan)
    return PlotSeries(x, y, no_band, no_band)
