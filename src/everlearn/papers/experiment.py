"""Papers and their experiments: the runs of a figure or table, and claims that are checked against them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.errors import unknown
from everlearn.reports.groups import Group
from everlearn.runs.sweep import Job, missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from everlearn.reports.comparison import Column
    from everlearn.reports.style import Look

MINUTE = 60.0

Settings = Mapping[str, Any]
"""Settings of a run by dotted names."""


@dataclass(frozen=True)
class Series:
    """Runs of one learner under several seeds: a curve of a figure or a row of a table.

    Attributes:
        name: its name in the figure.
        folder: of its records, below the folder of all records; the seed is appended.
        learner: name of the learner.
        settings: settings that differ from the defaults of a run.
        seeds: each is the seed of the stream and of the run.
        stream: kind of stream.
        protocols: evaluated after training, as arguments of `everlearn evaluate`.
        minutes: duration of one seed on one core, if known.
    """

    name: str
    folder: str
    learner: str
    settings: Settings = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    stream: str = "sprites"
    protocols: tuple[tuple[str, ...], ...] = ()
    minutes: float | None = None

    def jobs(self, records: Path) -> list[Job]:
        """One job per seed."""
        return [self._job(records, seed) for seed in self.seeds]

    def _job(self, records: Path, seed: int) -> Job:
        from everlearn.runs import RunSpec

        settings = {**self.settings, "seed": seed, "stream.seed": seed}
        return Job(
            spec=RunSpec.make(stream=self.stream, learner=self.learner, settings=settings),
            folder=records / f"{self.folder}-seed-{seed}",
            asks=self.protocols,
            name=self.name,
            seconds=None if self.minutes is None else MINUTE * self.minutes,
        )

    def group(self, records: Path) -> Group | None:
        """Results of the finished and evaluated runs; None if there are none."""
        from everlearn.reports.run_results import Findings
        from everlearn.runs import Record

        runs = [Findings.of(Record(job.folder)) for job in self.jobs(records) if not missing(job)]
        return Group(self.name, self.name, tuple(runs)) if runs else None

    def with_settings(self, settings: Settings, suffix: str) -> "Series":
        """The same series with other settings and the suffix appended to its folder."""
        return replace(
            self, settings={**self.settings, **settings}, folder=f"{self.folder}-{suffix}", minutes=None
        )


@dataclass(frozen=True)
class Run:
    """One cell of the table of runs of a paper: a series at one scale.

    Attributes:
        settings: settings of this cell only.
        seeds: each is the seed of the stream and of the run.
        minutes: duration of one seed on one core, if known.
        folder: of the records; default: folder of the scale and name of the series.
        learner: if it differs from the learner of the row.
    """

    settings: Settings = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    minutes: float | None = None
    folder: str = ""
    learner: str = ""


@dataclass(frozen=True)
class Row:
    """One row of the table of runs of a paper: a series at all scales.

    Attributes:
        name: of the series.
        learner: name of the learner.
        smoke, laptop, paper: the runs at each scale; None if the series does not exist there.
        settings: settings at all scales, which take precedence over those of a run.
        protocols: names of the protocols evaluated after training.
    """

    name: str
    learner: str
    smoke: Run | None
    laptop: Run | None
    paper: Run | None
    settings: Settings = field(default_factory=dict)
    protocols: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scale:
    """The size at which a paper is reproduced.

    Attributes:
        name: smoke, laptop or paper.
        description: its purpose and how it differs from the paper.
        series: all series that exist at this scale.
    """

    name: str
    description: str
    series: Sequence[Series]

    @classmethod
    def from_table(
        cls,
        name: str,
        description: str,
        rows: Sequence[Row],
        *,
        folder: str,
        settings: Settings,
        stream: str = "sprites",
        protocol_options: Mapping[str, tuple[str, ...]] | None = None,
    ) -> "Scale":
        """One column of a table of runs.

        Args:
            name: smoke, laptop or paper.
            description: its purpose and how it differs from the paper.
            rows: the table.
            folder: of the records of this scale.
            settings: settings of all series at this scale.
            stream: kind of stream.
            protocol_options: further arguments of protocols, by their names.
        """
        options = protocol_options or {}
        series = []
        for row in rows:
            run: Run | None = getattr(row, name)
            if run is not None:
                series.append(
                    Series(
                        row.name,
                        run.folder or f"{folder}/{slug(row.name)}",
                        run.learner or row.learner,
                        {**settings, **run.settings, **row.settings},
                        run.seeds,
                        stream,
                        tuple((protocol, *options.get(protocol, ())) for protocol in row.protocols),
                        run.minutes,
                    )
                )
        return cls(name, description, tuple(series))

    def select(self, names: Sequence[str]) -> list[Series]:
        """The series of these names in their order; names that this scale does not have are skipped."""
        known = {series.name: series for series in self.series}
        return [known[name] for name in names if name in known]

    def first_tasks(self, n_tasks: int, device: str) -> "Scale":
        """Only the first tasks of every run on some device, to test the setup and measure its speed."""
        settings = {"n_tasks": n_tasks, "evaluation.every": 1, "device": device}
        return replace(
            self,
            description=f"{self.description} Only the first {n_tasks} tasks of each run, on {device}.",
            series=tuple(series.with_settings(settings, f"first-{n_tasks}") for series in self.series),
        )


class Verdict(NamedTuple):
    """Whether a claim holds in our records, and the numbers that decide it."""

    holds: bool
    observed: str


Groups = Mapping[str, Group]
"""Results of the series of an experiment, by name."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked against records.

    Attributes:
        text: the claim.
        series: names of the series it is about.
        check: computes the verdict from the results of these series, given in their order.
    """

    text: str
    series: tuple[str, ...]
    check: Callable[[Groups], Verdict]

    def verdict(self, groups: Groups, scale: Scale) -> Verdict | None:
        """The verdict; None as long as records are missing."""
        names = [series.name for series in scale.select(self.series)]
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
    draw: "Callable[[Sequence[Group], Look], Figure] | None" = None
    note: str = ""
    columns: "Sequence[Column]" = ()

    def jobs(self, scale: Scale, records: Path) -> list[Job]:
        """All runs that it needs."""
        return [job for series in scale.select(self.series) for job in series.jobs(records)]

    def at(self, scale: Scale) -> "Experiment":
        """The same without claims about series that this scale does not have."""
        return replace(self, claims=tuple(claim for claim in self.claims if scale.select(claim.series)))

    def groups(self, scale: Scale, records: Path) -> dict[str, Group]:
        """Results of its series, as far as their runs are finished."""
        found = {series.name: series.group(records) for series in scale.select(self.series)}
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
