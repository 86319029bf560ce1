"""What a paper shows: the runs behind it, what it claims, and whether our records say the same."""

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


@dataclass(frozen=True)
class Line:
    """A learner in an exhibit, played under some seeds: a curve of a figure, a row of a table.

    Attributes:
        name: what it is called there.
        folder: of its records, below the folder of all records; the seed is put behind it.
        learner: who learns.
        settings: what differs from the defaults of a run, by dotted names.
        seeds: each for the stream and for the run.
        stream: the kind of stream.
        asks: protocols asked afterwards, in the words that `everlearn protocol` takes.
        minutes: what one seed takes on one core, if that is known.
    """

    name: str
    folder: str
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    stream: str = "sprites"
    asks: tuple[tuple[str, ...], ...] = ()
    minutes: float | None = None

    def jobs(self, records: Path) -> list[Job]:
        """A job for each seed."""
        return [self._job(records, seed) for seed in self.seeds]

    def _job(self, records: Path, seed: int) -> Job:
        from everlearn.runs import RunSpec

        settings = {**self.settings, "seed": seed, "stream.seed": seed}
        return Job(
            spec=RunSpec.make(stream=self.stream, learner=self.learner, settings=settings),
            folder=records / f"{self.folder}-seed-{seed}",
            asks=self.asks,
            name=self.name,
            seconds=None if self.minutes is None else MINUTE * self.minutes,
        )

    def group(self, records: Path) -> Group | None:
        """What its records say together, of those that were played and asked to the end; None without any."""
        from everlearn.reports.run_results import Findings
        from everlearn.runs import Record

        runs = [Findings.of(Record(job.folder)) for job in self.jobs(records) if not missing(job)]
        return Group(self.name, self.name, tuple(runs)) if runs else None

    def changed(self, settings: Mapping[str, Any], word: str) -> "Line":
        """The same under other settings, in records of its own: `word` is put behind their folder."""
        return replace(
            self, settings={**self.settings, **settings}, folder=f"{self.folder}-{word}", minutes=None
        )


@dataclass(frozen=True)
class Scale:
    """The size at which a paper is done again: who learns, with which settings, for how long.

    Attributes:
        name: smoke, laptop or paper.
        about: what it is for, and how it differs from the paper.
        lines: everybody who learns, by the names that exhibits call them.
    """

    name: str
    about: str
    lines: Sequence[Line]

    def some(self, names: Sequence[str]) -> list[Line]:
        """The lines of these names, in their order; not every size has all of them."""
        known = {line.name: line for line in self.lines}
        return [known[name] for name in names if name in known]

    def begun(self, n_tasks: int, device: str) -> "Scale":
        """Only the first tasks of every run, on some device: to see that all of it works, and how fast."""
        settings = {"n_tasks": n_tasks, "evaluation.every": 1, "device": device}
        lines = tuple(line.changed(settings, f"first-{n_tasks}") for line in self.lines)
        return replace(
            self, about=f"{self.about} Of each run only {n_tasks} tasks, on {device}.", lines=lines
        )


class Verdict(NamedTuple):
    """What our records say to a claim."""

    holds: bool
    saw: str


Groups = Mapping[str, Group]
"""What the lines of an exhibit found, by name."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that records can speak for or against.

    Attributes:
        words: the claim, in our words.
        about: the lines it is about.
        check: looks at what these found, in their order.
    """

    words: str
    about: tuple[str, ...]
    check: Callable[[Groups], Verdict]

    def verdict(self, groups: Groups, scale: Scale) -> Verdict | None:
        """What the records say; None as long as some are missing."""
        names = [line.name for line in scale.some(self.about)]
        if not all(name in groups for name in names):
            return None
        return self.check({name: groups[name] for name in names})


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table of a paper.

    Attributes:
        name: what people call it on the command line, such as figure-4.
        title: what it shows.
        lines: the names of those who are shown.
        claims: what the paper says about it.
        draw: makes the figure from what the lines found; None for tables.
        note: where we differ from the paper, and why.
        columns: what its table says besides what all tables say.
    """

    name: str
    title: str
    lines: tuple[str, ...]
    claims: Sequence[Claim] = ()
    draw: "Callable[[Sequence[Group], Look], Figure] | None" = None
    note: str = ""
    columns: "Sequence[Column]" = ()

    def jobs(self, scale: Scale, records: Path) -> list[Job]:
        """All that has to be done for it."""
        return [job for line in scale.some(self.lines) for job in line.jobs(records)]

    def at(self, scale: Scale) -> "Exhibit":
        """The same with those claims alone that somebody at this size can speak for."""
        return replace(self, claims=tuple(claim for claim in self.claims if scale.some(claim.about)))

    def groups(self, scale: Scale, records: Path) -> dict[str, Group]:
        """What its lines found, as far as it is there."""
        found = {line.name: line.group(records) for line in scale.some(self.lines)}
        return {name: group for name, group in found.items() if group is not None}


@dataclass(frozen=True)
class Start:
    """A network that runs start from.

    Attributes:
        backbone: which one.
        stream: the settings of the stream whose first task it is trained on.
        epochs: passes over the images.
        learning_rate: the largest step size.
    """

    backbone: str
    stream: Mapping[str, Any]
    epochs: int = 2
    learning_rate: float = 1e-3


@dataclass(frozen=True)
class Paper:
    """A paper that is done again.

    Attributes:
        name: what people call it on the command line, to do the whole of it.
        title: of the page that sets its claims beside our records.
        page: the file name of that page.
        exhibits: its figures and tables; their names are used by no other paper.
        scales: the sizes at which they can be done; all papers have the same names of sizes.
        starts: networks that runs start from, by their files: on the first task of which stream `pretrain`
            makes them, and how. Those not named here are transformers trained on Fashion-MNIST.
    """

    name: str
    title: str
    page: str
    exhibits: Sequence[Exhibit]
    scales: Sequence[Scale]
    starts: Mapping[str, "Start"] = field(default_factory=dict)

    def scale(self, name: str) -> Scale:
        """The size of this name."""
        known = {scale.name: scale for scale in self.scales}
        if name not in known:
            raise unknown("scale", name, known)
        return known[name]
