"""Papers and their experiments: the runs of a figure or table, and claims that are checked against them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.errors import unknown
from everlearn.reports.comparison_columns import Column
from everlearn.reports.groups import Group
from everlearn.reports.run_figures import Drawing
from everlearn.reports.run_results import RunResults
from everlearn.runs.run_record import Record
from everlearn.runs.spec import RunSpec
from everlearn.runs.sweep import Job, pending_commands

Settings = Mapping[str, Any]
"""Settings of a run by dotted names."""


def learner(**settings: Any) -> Settings:
    """Settings of the learner of a run."""
    return {f"learner.{name}": value for name, value in settings.items()}


def stream(**settings: Any) -> Settings:
    """Settings of the stream of a run."""
    return {f"stream.{name}": value for name, value in settings.items()}


@dataclass(frozen=True)
class Run:
    """One cell of the table of runs of a paper: a series at one scale."""

    settings: Settings = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)  # each is the seed of the stream and of the run
    minutes: float | None = None  # duration of one seed on one core, if known
    folder: str = ""  # of the records; default: the folder of the scale and the name of the series
    learner: str = ""  # if it differs from that of the series
    stream: str = ""  # if it differs from that of the scale


@dataclass(frozen=True)
class Series:
    """One row of the table of runs of a paper: a curve of a figure or a row of its table.

    Its cells are the runs at each scale; None if the series does not exist there.
    """

    name: str
    learner: str
    smoke: Run | None = None
    laptop: Run | None = None
    paper: Run | None = None
    settings: Settings = field(default_factory=dict)  # at all scales, instead of those of a run
    protocols: tuple[str, ...] = ()  # evaluated after training


@dataclass(frozen=True)
class Scale:
    """The size at which a paper is reproduced: one column of its table of runs."""

    name: str  # smoke, laptop or paper
    description: str  # its purpose and how it differs from the paper
    table: Sequence[Series]  # all series of the paper
    folder: str = ""  # of its records, below the folder of all records
    settings: Settings = field(default_factory=dict)  # of all runs
    stream: str = "sprites"
    protocol_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by protocol
    overrides: Settings = field(default_factory=dict)  # instead of all other settings
    suffix: str = ""  # of the folders of its records

    @cached_property
    def series(self) -> Mapping[str, tuple[Series, Run]]:
        """The series that exist at this scale and their runs, by name."""
        cells = ((series, getattr(series, self.name)) for series in self.table)
        return {series.name: (series, run) for series, run in cells if run is not None}

    def select(self, names: Iterable[str]) -> list[str]:
        """The given series that exist at this scale."""
        return [name for name in names if name in self.series]

    def first_tasks(self, n_tasks: int, device: str) -> "Scale":
        """Only the first tasks of every run on some device, to test the setup and measure its speed."""
        settings = {"n_tasks": n_tasks, "evaluation.every_n_tasks": 1, "device": device}
        description = f"{self.description} Only the first {n_tasks} tasks of each run, on {device}."
        suffix = f"{self.suffix}-first-{n_tasks}"
        return replace(self, description=description, overrides={**self.overrides, **settings}, suffix=suffix)

    def settings_of(self, name: str) -> dict[str, Any]:
        """All settings of a series that differ from the defaults of a run, without seeds."""
        series, run = self.series[name]
        return {**self.settings, **run.settings, **series.settings, **self.overrides}

    def spec(self, name: str, seed: int, settings: Settings | None = None) -> RunSpec:
        """The specification of a run of a series, with some other settings if given."""
        series, run = self.series[name]
        seeds = {"seed": seed, "stream.seed": seed}
        merged = {"device": "cpu", **self.settings_of(name), **seeds, **(settings or {})}
        kinds = {"stream": run.stream or self.stream, "learner": run.learner or series.learner}
        return RunSpec.make(**kinds, settings=merged)

    def jobs(self, name: str, records: Path) -> list[Job]:
        """One job for each seed of a series."""
        series, run = self.series[name]
        folder = f"{run.folder or f'{self.folder}/{slug(name)}'}{self.suffix}"
        protocols = tuple((each, *self.protocol_options.get(each, ())) for each in series.protocols)
        seconds = None if self.overrides or run.minutes is None else 60 * run.minutes
        return [
            Job(
                spec=self.spec(name, seed), folder=records / f"{folder}-seed-{seed}", protocols=protocols,
                name=name, seconds=seconds,
            )
            for seed in run.seeds
        ]  # fmt: skip

    def group(self, name: str, records: Path) -> Group | None:
        """Results of the finished and evaluated runs of a series; None if there are none."""
        finished = [job.folder for job in self.jobs(name, records) if not pending_commands(job)]
        runs = tuple(RunResults.from_record(Record(folder)) for folder in finished)
        return Group(name, name, runs) if runs else None


ONE_SEED = "one seed"
"""Verdict on a claim of which there is a single seed."""


class Verdict(NamedTuple):
    """Whether a claim holds in our records, and the numbers that decide it."""

    holds: bool | None  # None if our runs are not comparable with those of the paper
    observed: str
    one_seed: bool = False  # from a single seed, so that neither yes nor no is shown

    @property
    def mark(self) -> str:
        """The verdict in words."""
        if self.one_seed and self.holds is not None:
            return ONE_SEED
        return {True: "yes", False: "no", None: "not comparable"}[self.holds]


Groups = Mapping[str, Group]
"""Results of the series of a claim or an experiment, by name."""
Check = Callable[[Groups], Verdict]
"""Computes the verdict on a claim from the results of its series, given in their order."""


@dataclass(frozen=True)
class Claim:
    """A statement about some series, of a paper or of ours, that can be checked against records."""

    text: str
    series: tuple[str, ...]
    check: Check
    is_ours: bool = False  # a statement of ours, which the paper does not make

    def verdict(self, groups: Groups, scale: Scale) -> Verdict | None:
        """The verdict; None as long as records are missing."""
        names = scale.select(self.series)
        if not all(name in groups for name in names):
            return None
        return self.check({name: groups[name] for name in names})


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper."""

    name: str  # on the command line, such as figure-4
    title: str  # what it shows
    series: tuple[str, ...]  # names of the series shown
    claims: Sequence[Claim] = ()
    draw: Drawing | None = None  # None for tables
    note: str = ""  # differences from the paper, and their reasons
    columns: Sequence[Column] = ()  # additional columns of its table

    def jobs(self, scale: Scale, records: Path) -> list[Job]:
        """All runs that it needs."""
        return [job for name in scale.select(self.series) for job in scale.jobs(name, records)]

    def at(self, scale: Scale) -> "Experiment":
        """A copy without claims about series that this scale does not have."""
        return replace(self, claims=tuple(claim for claim in self.claims if scale.select(claim.series)))

    def groups(self, scale: Scale, records: Path) -> dict[str, Group]:
        """Results of its series, as far as their runs are finished."""
        found = {name: scale.group(name, records) for name in scale.select(self.series)}
        return {name: group for name, group in found.items() if group is not None}


@dataclass(frozen=True)
class PretrainSpec:
    """Recipe of the pretrained network that runs start from."""

    backbone: str
    stream: Settings  # the network is trained on the first task of this stream
    epochs: int = 2
    learning_rate: float = 1e-3  # the maximum


@dataclass(frozen=True)
class Paper:
    """A paper that is reproduced.

    Files with weights that are not in `pretrained` are vision transformers pretrained on Fashion-MNIST.
    """

    name: str  # on the command line, for all of its experiments
    title: str  # of the results page
    page: str  # file name of the results page
    experiments: Sequence[Experiment]  # their names are unique among all papers
    scales: Sequence[Scale]  # their names are the same for all papers
    pretrained: Mapping[str, PretrainSpec] = field(default_factory=dict)  # by file with the weights

    def scale(self, name: str) -> Scale:
        """The scale of this name."""
        known = {scale.name: scale for scale in self.scales}
        if name not in known:
            raise unknown("scale", name, known)
        return known[name]


def slug(name: str) -> str:
    """A name as part of the name of a folder.

    Example:
        >>> slug("PR-GD, corrupted 0.5"), slug("SD-[41]")
        ('pr-gd-corrupted-0-5', 'sd-41')
    """
    return "-".join(re.findall(r"\w+", name.lower()))
