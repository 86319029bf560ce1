"""One page that sets what a paper claims beside what our records say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from everlearn.evaluation import Interval
from everlearn.papers.exhibit import Exhibit, Scale, Verdict
from everlearn.reports.comparison import COLUMNS, Column
from everlearn.reports.figures import write
from everlearn.reports.formatting import DASH, duration, exactly, share
from everlearn.reports.groups import Group, interval
from everlearn.reports.style import LOOKS

SHOWN = ("tasks", "seeds", "accuracy", "forgetting", "images", "FLOPs", "time", "weights", "memory")
"""Of the columns of a comparison, those that belong beside a claim."""
NOT_YET = "not played yet"
"""What is said of a claim whose runs are not finished."""
FIGURES = "figures"
"""The folder of the figures, beside the page."""


@dataclass(frozen=True)
class Shown:
    """An exhibit, and what our records say to it.

    Attributes:
        exhibit: the figure or table, with the claims that its size can speak for.
        groups: what was found, in the order of its lines.
        verdicts: on each of its claims; None where records are missing.
    """

    exhibit: Exhibit
    groups: tuple[Group, ...]
    verdicts: tuple[Verdict | None, ...]

    @property
    def figure(self) -> str:
        """Where its figure is, seen from the page."""
        return f"{FIGURES}/{self.exhibit.name}.svg"


def look_at(exhibit: Exhibit, scale: Scale, records: Path) -> Shown:
    """What the finished records of an exhibit say."""
    asked, groups = exhibit.at(scale), exhibit.groups(scale, records)
    verdicts = tuple(claim.verdict(groups, scale) for claim in asked.claims)
    return Shown(asked, tuple(groups.values()), verdicts)


def draw(shown: Shown, folder: Path) -> Path | None:
    """Write the figure of an exhibit, if it has one and there is something to draw."""
    if shown.exhibit.draw is None or not shown.groups:
        return None
    return write(shown.exhibit.draw, shown.groups, folder / shown.figure, LOOKS["paper"])


def page(shown: Sequence[Shown], scale: Scale, title: str) -> str:
    """All exhibits in Markdown, after a summary of their claims."""
    parts = [f"# {title}", "", f"{scale.about} {_spent(shown)}", "", *summary(shown)]
    for each in shown:
        parts += ["", *_section(each)]
    return "\n".join(parts) + "\n"


def _spent(shown: Sequence[Shown]) -> str:
    """What all runs took together; those shown twice were played once."""
    seconds = {
        run.record.folder: run.seconds for each in shown for group in each.groups for run in group.runs
    }
    if not seconds:
        return "Nothing was played yet."
    took = duration(exactly(math.fsum(seconds.values())))
    return f"The {len(seconds)} runs behind this page took {took} in all, each on one core."


def summary(shown: Sequence[Shown], page: str = "") -> Iterator[str]:
    """Every claim, whether it holds here, and what was seen; `page` is where the exhibits are."""
    yield "| | the paper says | here | seen |"
    yield "|---|---|---|---|"
    for each in shown:
        for claim, verdict in zip(each.exhibit.claims, each.verdicts, strict=True):
            name = f"[{each.exhibit.name}]({page}#{each.exhibit.name})"
            yield f"| {name} | {claim.words} | {mark(verdict)} | {verdict.saw if verdict else ''} |"


def mark(verdict: Verdict | None) -> str:
    """A verdict in a word."""
    return NOT_YET if verdict is None else "yes" if verdict.holds else "**no**"


def _section(shown: Shown) -> Iterator[str]:
    exhibit = shown.exhibit
    yield f"## {exhibit.name}"
    yield ""
    yield f"{exhibit.title}. `everlearn reproduce {exhibit.name}`"
    if exhibit.draw is not None and shown.groups:
        yield f"\n![{exhibit.title}]({shown.figure})"
    if exhibit.note:
        yield f"\n{exhibit.note}"
    if shown.groups:
        yield ""
        yield from table(shown.groups, exhibit.columns)


def table(groups: Sequence[Group], more: Sequence[Column] = ()) -> Iterator[str]:
    """What each learner is given, how well it does, and at what cost; `more` columns come first."""
    n = min(group.n_tasks for group in groups)
    early = Column(f"after {n}", "", lambda group: share(_after(group, n)), "well")
    columns = [*more, early, *(column for column in COLUMNS if column.heading in SHOWN)]
    columns = [column for column in columns if any(column.cell(group) != DASH for group in groups)]
    yield "| " + " | ".join(["learner", "is given", *(column.heading for column in columns)]) + " |"
    yield "|---" * (2 + len(columns)) + "|"
    for group in groups:
        given = str(group.runs[0].started.get("given", ""))
        yield "| " + " | ".join([group.short, given, *(column.cell(group) for column in columns)]) + " |"


def _after(group: Group, n_tasks: int) -> Interval | None:
    """Accuracy on all tasks seen when the shortest of those compared had ended."""
    curves = [run.accuracy() for run in group.runs]
    return interval([curve[n_tasks] for curve in curves if n_tasks in curve])
