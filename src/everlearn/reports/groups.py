"""Runs that differ in nothing but their seeds are samples of the same thing."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everlearn.errors import BadInput
from everlearn.evaluation import Interval, mean_interval, student_quantile
from everlearn.reports.run_results import Findings, Points
from everlearn.rng import FloatArray
from everlearn.settings import flatten

if TYPE_CHECKING:
    from everlearn.runs import Record


SEEDS = ("seed", "stream.seed")
ASKED_FIRST = ("learner", "edits", "tasks", "epochs", "batch_size", "stream")
LONGEST = 28
"""Characters of a name that people gave, beside a line."""

Settings = Mapping[str, Any]


def full_names(samples: Sequence[Sequence[Findings]]) -> list[str]:
    """Each learner's name, with all settings that set it apart from the others, after what people call it."""
    specs = [settings(runs[0]) for runs in samples]
    names = []
    for spec, runs in zip(specs, samples, strict=True):
        told = [name for name in spec if name not in SEEDS and _differs(name, _comparable(name, spec, specs))]
        given = _given(runs)
        names.append((f"{given}: " if given else "") + _said(spec, told))
    return names


def short_names(samples: Sequence[Sequence[Findings]]) -> list[str]:
    """What people call it, or else the learner with no more settings than tell it from its namesakes."""
    specs, given = [settings(runs[0]) for runs in samples], [_given(runs) for runs in samples]
    names = []
    for spec, own in zip(specs, given, strict=True):
        namesakes = [other for other in specs if other["learner.name"] == spec["learner.name"]]
        plain = _said(spec, _telling(namesakes))
        names.append(_cut(own) if own and given.count(own) == 1 else plain)
    return names


def settings(run: Findings) -> dict[str, Any]:
    """All that may tell a run from another, by dotted names, with the tasks that were really played."""
    spec = {name: value for name, value in flatten(run.record.spec).items() if name != "n_tasks"}
    return {**spec, "tasks": run.n_tasks, "edits": len(run.edits)}


def _telling(specs: Sequence[Settings]) -> list[str]:
    """A few settings that together tell all of these apart, the most telling first."""
    chosen: list[str] = []
    names = [name for name in sorted(specs[0], key=_weight) if name not in SEEDS and _differs(name, specs)]
    while len(_kinds(chosen, specs)) < len(_kinds(names, specs)):
        chosen.append(max(names, key=lambda name: len(_kinds([*chosen, name], specs))))
    return chosen


def _weight(name: str) -> int:
    """What people ask about first: the learner, how long, what it met; last how it was judged."""
    part = name.partition(".")[0]
    return ASKED_FIRST.index(part) if part in ASKED_FIRST else len(ASKED_FIRST)


def _kinds(names: Sequence[str], specs: Sequence[Settings]) -> set[str]:
    return {str([spec[name] for name in names]) for spec in specs}


def _comparable(name: str, spec: Settings, specs: Sequence[Settings]) -> list[Settings]:
    """A learner's own settings are compared with those of its namesakes, all others with everybody's."""
    is_own = name.startswith("learner.")
    return [other for other in specs if not is_own or other["learner.name"] == spec["learner.name"]]


def _differs(name: str, specs: Sequence[Settings]) -> bool:
    """Whether a setting that all of them have is not the same in all."""
    return all(name in spec for spec in specs) and any(spec[name] != specs[0][name] for spec in specs)


def _said(spec: Settings, names: Sequence[str]) -> str:
    return ", ".join([spec["learner.name"], *(_setting(name, spec[name]) for name in names)])


def _setting(name: str, value: Any) -> str:
    return str(value) if name == "stream.stream" else f"{name.rpartition('.')[2]} {value}"


def _given(runs: Sequence[Findings]) -> str:
    """The name that people gave to all of these runs alike, if they did."""
    names = {run.record.name for run in runs}
    return names.pop() if len(names) == 1 else ""


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


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
