"""Groups of runs that differ in their seeds only, and the names that distinguish groups."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from everlearn.errors import BadInput
from everlearn.evaluation import Interval
from everlearn.evaluation.intervals import (
    NOT_NEGATIVE,
    SIGNED_UNIT,
    UNBOUNDED,
    Bounds,
    Curve,
    interval_over,
    mean_series,
)
from everlearn.plotting import PlotSeries
from everlearn.reports.run_results import BOUNDS, RunResults
from everlearn.runs.run_record import Record
from everlearn.settings import flatten

SEEDS = ("seed", "stream.seed")
SECTIONS = ("learner", "edits", "tasks", "epochs", "batch_size", "stream")
"""Sections of settings by which groups are distinguished first, before all others."""
MAX_NAME = 28
"""Characters of a run's name in figures."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """Runs with equal settings and different seeds."""

    name: str  # the learner with all settings that distinguish it from the other groups
    short: str  # the shortest distinguishing name, for figures
    runs: tuple[RunResults, ...]  # the results of each seed
    copies: tuple[Record, ...] = ()  # records with the settings and seeds of one of the runs; not counted

    @property
    def n_tasks(self) -> int:
        """Tasks that each of the runs has learned."""
        return self.runs[0].n_tasks

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """All metrics over seeds; None if undefined."""
        measures = [run.measures() for run in self.runs]
        return {
            name: interval_over([each[name] for each in measures], BOUNDS.get(name, NOT_NEGATIVE))
            for name in measures[0]
        }

    @property
    def tested(self) -> tuple[int, int]:
        """Correct answers and images of the last evaluations of all seeds."""
        n_correct, n_images = (sum(counts) for counts in zip(*(run.tested for run in self.runs), strict=True))
        return n_correct, n_images

    def series(self, curve: Callable[[RunResults], Curve], bounds: Bounds = UNBOUNDED) -> PlotSeries:
        """The mean curve over seeds."""
        return mean_series([curve(run) for run in self.runs], bounds)

    def difference(self, other: "Group", measure: str) -> Interval | None:
        """This minus the other group in the seeds that both have; None if they share none."""
        gaps = [a.measures()[measure] - b.measures()[measure] for a, b in self.paired(other)]
        return interval_over(gaps, SIGNED_UNIT)

    def paired(self, other: "Group") -> list[tuple[RunResults, RunResults]]:
        """Runs of this and of the other group with equal seeds."""
        theirs = {run.seeds: run for run in other.runs}
        return [(run, theirs[run.seeds]) for run in self.runs if run.seeds in theirs]

    def results_of(self, protocol: str) -> list[Mapping[str, Any]]:
        """The JSON results of a protocol, of the runs that have them."""
        return [run.protocol_results[protocol] for run in self.runs if protocol in run.protocol_results]


def group(records: Sequence[Record]) -> list[Group]:
    """Groups of records, by decreasing accuracy; a repeated run counts once, and its copies are listed."""
    if not records:
        raise BadInput("there is nothing to compare; give at least one record")
    grouped: dict[str, dict[tuple[int, int | None], RunResults]] = {}
    copies: dict[str, list[Record]] = {}
    for record in records:
        run = RunResults.from_record(record)
        key = _identity(run)
        if grouped.setdefault(key, {}).setdefault(run.seeds, run) is not run:
            copies.setdefault(key, []).append(record)
    samples = [tuple(runs.values()) for runs in grouped.values()]
    groups = [
        Group(*names, runs, tuple(copies.get(key, ())))
        for names, (key, runs) in zip(_names(samples), zip(grouped, samples, strict=True), strict=True)
    ]
    return sorted(groups, key=_rank)


def _rank(group: Group) -> float:
    accuracy = group.intervals["average_accuracy"] or group.intervals["object_final"]
    return math.inf if accuracy is None else -accuracy.mean


def _identity(run: RunResults) -> str:
    """A key of the settings of a run without its seeds; edits of a memory belong to the settings.

    A setting that is None equals one that did not exist in the version of the run.
    """
    given = settings_of(run).items()
    settings = {name: value for name, value in given if name not in SEEDS and value is not None}
    edits = [(edit["n_tasks"], edit["action"], edit["label"]) for edit in run.edits]
    return json.dumps([settings, edits], sort_keys=True)


def _names(samples: Sequence[Sequence[RunResults]]) -> Iterator[tuple[str, str]]:
    """The full and the short name of each group.

    The full name is the learner with all settings that differ from other groups, after the name of the runs.
    The short one is the name of the runs, or the learner with the fewest settings that distinguish it.
    """
    specs, given = [settings_of(runs[0]) for runs in samples], [_common_name(runs) for runs in samples]
    for spec, own in zip(specs, given, strict=True):
        same_learner = [other for other in specs if other["learner.name"] == spec["learner.name"]]
        differing = [
            name for name in spec if _differs(name, same_learner if name.startswith("learner.") else specs)
        ]
        full = (f"{own}: " if own else "") + _describe(spec, differing)
        if own and given.count(own) == 1:
            yield full, own if len(own) <= MAX_NAME else f"{own[: MAX_NAME - 1]}…"
        else:
            yield full, _describe(spec, _distinguishing(same_learner))


def settings_of(run: RunResults) -> dict[str, Any]:
    """All settings of a run by dotted names, with the number of tasks learned and of edits."""
    spec = {name: value for name, value in flatten(run.record.spec).items() if name != "n_tasks"}
    return {**spec, "tasks": run.n_tasks, "edits": len(run.edits)}


def _distinguishing(specs: Sequence[Settings]) -> list[str]:
    """A few settings that together distinguish all specs, chosen greedily."""
    chosen: list[str] = []
    names = [name for name in sorted(specs[0], key=_order) if _differs(name, specs)]
    while len(_distinct(chosen, specs)) < len(_distinct(names, specs)):
        chosen.append(max(names, key=lambda name: len(_distinct([*chosen, name], specs))))
    return chosen


def _order(name: str) -> int:
    section = name.partition(".")[0]
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def _distinct(names: Sequence[str], specs: Sequence[Settings]) -> set[str]:
    return {str([spec[name] for name in names]) for spec in specs}


def _differs(name: str, specs: Sequence[Settings]) -> bool:
    """Whether all specs have a setting other than a seed, and its values differ."""
    if name in SEEDS or not all(name in spec for spec in specs):
        return False
    return any(spec[name] != specs[0][name] for spec in specs)


def _describe(spec: Settings, names: Sequence[str]) -> str:
    texts = [
        str(spec[name]) if name == "stream.stream" else f"{name.rpartition('.')[2]} {spec[name]}"
        for name in names
    ]
    return ", ".join([spec["learner.name"], *texts])


def _common_name(runs: Sequence[RunResults]) -> str:
    """The name that all of these runs have; empty if they have none or several."""
    names = {run.record.name for run in runs}
    return names.pop() if len(names) == 1 else ""
