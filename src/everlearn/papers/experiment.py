"""Papers and their experiments: the runs of a figure or table, and claims that are checked against them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.errors import unknown
from everlearn.reports.groups import Group
from everlearn.runs.sweep import Job, pending_commands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from everlearn.plotting import FigureStyle
    from everlearn.reports.comparison import Column
    from everlearn.runs import RunSpec

Settings = Mapping[str, Any]
"""Settings of a run by dotted names."""


@dataclass(frozen=True)
class Run:
    """One cell of the table of runs of a paper: a series at one scale.

    Attributes:
        settings: settings of this cell.
        seeds: each is the seed of the stream and of the run.
        minutes: duration of one seed on one core, if known.
        folder: of the records; default: the folder of the scale and the name of the series.
        learner: if it differs from that of the series.
    """

    settings: Settings = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    minutes: float | None = None
    folder: str = ""
    learner: str = ""


@dataclass(frozen=True)
class Series:
    """One row of the table of runs of a paper: a curve of a figure or a row of its table.

    Attributes:
        name: its name in the figure.
        learner: name of the learner.
        smoke, laptop, paper: the runs at each scale; None if the series does not exist there.
        settings: settings at all scales; they take precedence over those of a run.
        protocols: names of the protocols evaluated after training.
    """

    name: str
    learner: str
    smoke: Run | None = None
    laptop: Run | None = None
    paper: Run | None = None
    settings: Settings = field(default_factory=dict)
    protocols: tuple[str, ...] = ()

    def at(self, scale: str) -> Run | None:
        """Its runs at a scale."""
        run: Run | None = getattr(self, scale)
        return run


@dataclass(frozen=True)
class Scale:
    """The size at which a paper is reproduced: one column of its table of runs.

    Attributes:
        name: smoke, laptop or paper.
        description: its purpose and how it differs from the paper.
        table: all series of the paper.
        folder: of its records, below the folder of all records.
        settings: settings of all runs, by dotted names.
        stream: kind of stream.
        protocol_options: further arguments of protocols, by their names.
        overrides: settings that take precedence over all others.
        suffix: of the folders of its records.
    """

    name: str
    description: str
    table: Sequence[Series]
    folder: str = ""
    settings: Settings = field(default_factory=dict)
    stream: str = "sprites"
    protocol_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overrides: Settings = field(default_factory=dict)
    suffix: str = ""

    @cached_property
    def series(self) -> Mapping[str, tuple[Series, Run]]:
        """The series that exist at this scale and their runs, by name."""
        cells = ((series, series.at(self.name)) for series in self.table)
        return {series.name: (series, run) for series, run in cells if run is not None}

    def select(self, names: Iterable[str]) -> list[str]:
        """Those of the series that exist at this scale."""
        return [name for name in names if name in self.series]

    def with_overrides(self, settings: Settings, suffix: str) -> "Scale":
        """The same scale with other settings, and a suffix of its folders."""
        return replace(self, overrides={**self.overrides, **settings}, suffix=f"{self.suffix}-{suffix}")

    def first_tasks(self, n_tasks: int, device: str) -> "Scale":
        """Only the first tasks of every run on some device, to test the setup and measure its speed."""
        settings = {"n_tasks": n_tasks, "evaluation.every_n_tasks": 1, "device": device}
        description = f"{self.description} Only the first {n_tasks} tasks of each run, on {device}."
        return replace(self.with_overrides(settings, f"first-{n_tasks}"), description=description)

    def settings_of(self, name: str) -> dict[str, Any]:
        """All settings of a series that differ from the defaults of a run, without seeds."""
        series, run = self.series[name]
        return {**self.settings, **run.settings, **series.settings, **self.overrides}

    def spec(self, name: str, seed: int, settings: Settings | None = None) -> "RunSpec":
        """The specification of a run of a series, with some other settings if given."""
        from everlearn.runs import RunSpec

        series, run = self.series[name]
        merged = {**self.settings_of(name), "seed": seed, "stream.seed": seed, **(settings or {})}
        return RunSpec.make(stream=self.stream, learner=run.learner or series.learner, settings=merged)

    def jobs(self, name: str, records: Path) -> list[Job]:
        """One job for each seed of a series."""
        series, run = self.series[name]
        folder = f"{run.folder or f'{self.folder}/{slug(name)}'}{self.suffix}"
        minutes = None if self.overrides else run.minutes
        return [
            Job(
                spec=self.spec(name, seed),
                folder=records / f"{folder}-seed-{seed}",
                protocols=tuple(
                    (protocol, *self.protocol_options.get(protocol, ())) for protocol in series.protocols
                ),
                name=name,
                seconds=None if minutes is None else 60 * minutes,
            )
            for seed in run.seeds
        ]

    def group(self, name: str, records: Path) -> Group | None:
        """Results of the finished and evaluated runs of a series; None if there are none."""
        from everlearn.reports.run_results import RunResults
        from everlearn.runs import Record

        runs = [
            RunResults.from_record(Record(job.folder))
            for job in self.jobs(name, records)
            if not pending_commands(job)
        ]
        return Group(name, name, tuple(runs)) if runs else None


class Verdict(NamedTuple):
    """Whether a claim holds in our records, and the numbers that decide it."""

    holds: bool
    observed: str


Groups = Mapping[str, Group]
"""Results of the series of a claim or an experiment, by name."""
Check = Callable[[Groups], Verdict]
"""Computes the verdict on a claim from the results of its series, given in their order."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked against records.

    Attributes:
        text: the claim.
        series: names of the series it is about.
        check: computes the verdict.
    """

    text: str
    series: tuple[str, ...]
    check: Check

    def verdict(self, groups: Groups, scale: Scale) -> Verdict | None:
        """The verdict; None as long as records are missing."""
        names = scale.select(self.series)
        if not all(name in groups for name in names):
            return None
        return self.check({name: groups[name] for name in names})


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper.

    Attributes:
        name: on the command line, such as figure-4.
        title: what it shows.
        series: names of the series shown.
        claims: statements of the paper about it.
        draw: draws the figure; None for tables.
        note: differences from the paper, and their reasons.
        columns: additional columns of its table.
    """

    name: str
    title: str
    series: tuple[str, ...]
    claims: Sequence[Claim] = ()
    draw: "Callable[[Sequence[Group], FigureStyle], Figure] | None" = None
    note: str = ""
    columns: "Sequence[Column]" = ()

    def jobs(self, scale: Scale, records: Path) -> list[Job]:
        """All runs that it needs."""
        return [job for name in scale.select(self.series) for job in scale.jobs(name, records)]

    def at(self, scale: Scale) -> "Experiment":
        """The same without claims about series that this scale does not have."""
        return replace(self, claims=tuple(claim for claim in self.claims if scale.select(claim.series)))

    def groups(self, scale: Scale, records: Path) -> dict[str, Group]:
        """Results of its series, as far as their runs are finished."""
        found = {name: scale.group(name, records) for name in scale.select(self.series)}
        return {name: group for name, group in found.items() if group is not None}


@dataclass(frozen=True)
class PretrainSpec:
    """How to pretrain a network that runs start from.

    Attributes:
        backbone: name of the network.
        stream: settings of the stream; the network is trained on its first task.
        epochs: number of passes over the images.
        learning_rate: maximum learning rate.
    """

    backbone: str
    stream: Settings
    epochs: int = 2
    learning_rate: float = 1e-3


@dataclass(frozen=True)
class Paper:
    """A paper that is reproduced.

    Attributes:
        name: on the command line, for all of its experiments.
        title: of the results page.
        page: file name of the results page.
        experiments: its figures and tables; their names are unique among all papers.
        scales: the sizes at which they can be reproduced; all papers have the same names of scales.
        pretrained: how to pretrain the networks that runs start from, by file. Files that are not listed
            are vision transformers pretrained on Fashion-MNIST.
    """

    name: str
    title: str
    page: str
    experiments: Sequence[Experiment]
    scales: Sequence[Scale]
    pretrained: Mapping[str, PretrainSpec] = field(default_factory=dict)

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
