"""One page that sets what a paper claims beside what our records say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from everlearn.papers.exhibit import Exhibit, Scale, Verdict
from everlearn.reports.comparison import COLUMNS
from everlearn.reports.figures import write
from everlearn.reports.groups import Group
from everlearn.reports.looks import LOOKS

SHOWN = ("tasks", "seeds", "accuracy", "forgetting", "images", "FLOPs", "time", "weights", "memory")
"""Of the columns of a comparison, those that belong beside a claim."""
FIGURES = "figures"
"""The folder of the figures, beside the page."""


@dataclass(frozen=True)
class Shown:
    """An exhibit, and what our records say to it.

    Attributes:
        exhibit: the figure or table.
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
    groups = exhibit.groups(scale, records)
    verdicts = tuple(claim.verdict(groups, scale) for claim in exhibit.claims)
    return Shown(exhibit, tuple(groups.values()), verdicts)


def draw(shown: Shown, folder: Path) -> Path | None:
    """Write the figure of an exhibit, if it has one and there is something to draw."""
    if shown.exhibit.draw is None or not shown.groups:
        return None
    return write(shown.exhibit.draw, shown.groups, folder / shown.figure, LOOKS["paper"])


def page(shown: Sequence[Shown], scale: Scale, title: str) -> str:
    """All exhibits in Markdown, after a summary of their claims."""
    parts = [f"# {title}", "", scale.about, "", *_summary(shown)]
    for each in shown:
        parts += ["", *_section(each)]
    return "\n".join(parts) + "\n"


def _summary(shown: Sequence[Shown]) -> Iterator[str]:
    yield "| | the paper says | here | seen |"
    yield "|---|---|---|---|"
    for each in shown:
        for claim, verdict in zip(each.exhibit.claims, each.verdicts, strict=True):
            name = f"[{each.exhibit.name}](#{each.exhibit.name})"
            yield f"| {name} | {claim.words} | {mark(verdict)} | {verdict.saw if verdict else ''} |"


def mark(verdict: Verdict | None) -> str:
    """A verdict in a word."""
    return "not played yet" if verdict is None else "yes" if verdict.holds else "**no**"


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
        yield from table(shown.groups)


def table(groups: Sequence[Group]) -> Iterator[str]:
    """What each learner is given, how well it does, and at what cost."""
    columns = [column for column in COLUMNS if column.heading in SHOWN]
    yield "| " + " | ".join(["learner", "is given", *(column.heading for column in columns)]) + " |"
    yield "|---" * (2 + len(columns)) + "|"
    for group in groups:
        given = str(group.runs[0].started.get("given", ""))
        yield "| " + " | ".join([group.short, given, *(column.cell(group) for column in columns)]) + " |"
