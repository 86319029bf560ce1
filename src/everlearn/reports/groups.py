"""Runs that differ in nothing but their seeds are samples of the same thing."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from everlearn.chance import FloatArray
from everlearn.errors import BadInput
from everlearn.evaluation import Interval, mean_interval, student_quantile
from everlearn.reports.findings import Findings, Points
from everlearn.reports.naming import SEEDS, full_names, settings, short_names

if TYPE_CHECKING:
    from everlearn.runs import Record

LEVEL = 0.95
"""How sure intervals and bands are."""


class Line(NamedTuple):
    """A curve through several seeds, with a band around it where there are two or more."""

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Group:
    """Runs of one spec under different seeds.

    Attributes:
        name: the learner, and all that sets it apart from the others it is compared with.
        short: the least that tells it from them, for figures.
        runs: what each seed found.
    """

    name: str
    short: str
    runs: tuple[Findings, ...]

    @property
    def n_tasks(self) -> int:
        """Tasks that every one of the runs played."""
        return self.runs[0].n_tasks

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """Every measure over the seeds; None where it is undefined for all of them."""
        measures = [run.measures() for run in self.runs]
        return {name: interval([each[name] for each in measures]) for name in measures[0]}

    def line(self, curve: Callable[[Findings], Points]) -> Line:
        """A curve of every run, drawn into one."""
        return _line([curve(run) for run in self.runs])


def group(records: Sequence["Record"]) -> list[Group]:
    """Records by what was played, the most accurate first; the same run played twice counts once."""
    if not records:
        raise BadInput("there is nothing to compare; give at least one record")
    together: dict[str, dict[str, Findings]] = {}
    for record in records:
        run = Findings.of(record)
        key, seeds = _identity(run)
        together.setdefault(key, {}).setdefault(seeds, run)
    samples = [tuple(runs.values()) for runs in together.values()]
    return sorted(map(Group, full_names(samples), short_names(samples), samples), key=_rank)


def _rank(group: Group) -> float:
    accuracy = group.intervals["average_accuracy"] or group.intervals["object_final"]
    return math.inf if accuracy is None else -accuracy.mean


def _identity(run: Findings) -> tuple[str, str]:
    """What was played, and under which seeds; whoever edits a memory has done it for one run only."""
    played = settings(run)
    seeds = [played.pop(name, None) for name in SEEDS]
    edits = [(edit["n_tasks"], edit["act"], edit["label"]) for edit in run.edits]
    return json.dumps([played, edits], sort_keys=True), json.dumps(seeds)


def interval(values: list[float]) -> Interval | None:
    """What several seeds say together; None if none of them says anything."""
    there = [value for value in values if not math.isnan(value)]
    return mean_interval(there, LEVEL) if there else None


def _line(curves: Sequence[Points]) -> Line:
    x = sorted({moment for curve in curves for moment in curve})
    table = np.array([[curve.get(moment, math.nan) for moment in x] for curve in curves])
    there = ~np.isnan(table)
    n = there.sum(axis=0)
    mean = np.where(n > 0, np.where(there, table, 0).sum(axis=0) / np.maximum(n, 1), np.nan)
    squares = np.where(there, (table - mean) ** 2, 0).sum(axis=0)
    margin = np.array([_factor(int(k)) for k in n]) * np.sqrt(squares / np.maximum(n - 1, 1))
    return Line(np.array(x, np.float64), mean, mean - margin, mean + margin)


@cache
def _factor(n: int) -> float:
    """How many standard deviations of a sample of n its mean may be off."""
    return student_quantile((1 + LEVEL) / 2, n - 1) / math.sqrt(n) if n > 1 else math.nan
