"""The results page of a paper: its claims, the verdicts on them, figures and tables."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from everlearn import files
from everlearn.evaluation import Interval
from everlearn.evaluation.formatting import DASH, LEGEND, format_duration, format_score
from everlearn.evaluation.intervals import UNIT, interval_over
from everlearn.papers.experiment import Experiment, Scale, Verdict
from everlearn.plotting import STYLES
from everlearn.reports.comparison_columns import COLUMNS, EACH_SEED, Column, each_seed
from everlearn.reports.figures import write
from everlearn.reports.groups import Group

SHOWN = ("tasks", "seeds", "accuracy", "forgetting", "images", "FLOPs", "time", "weights", "memory")
"""Columns of the comparison table that are shown on the page."""
LEGENDS = f"{LEGEND}; paired differences have Student's 95 % interval in brackets."
NOT_RUN = "not run yet"
"""Verdict on a claim whose runs are not finished."""
FIGURES = "figures"
"""Folder of the figures, beside the page."""
CONCLUSIONS, END_OF_CONCLUSIONS = "<!-- conclusions: written by hand -->", "<!-- end of conclusions -->"
"""Around the part of a page that is kept when the page is written again."""


@dataclass(frozen=True)
class Reproduction:
    """An experiment with the results of our records."""

    experiment: Experiment  # with the claims that can be checked at this scale
    groups: tuple[Group, ...]  # results of its series, in their order
    verdicts: tuple[Verdict | None, ...]  # one for each claim; None where records are missing
    missing: tuple[str, ...] = ()  # series without a finished run

    @classmethod
    def from_records(cls, experiment: Experiment, scale: Scale, records: Path) -> "Reproduction":
        """Read the finished records of an experiment and check its claims."""
        here, groups = experiment.at(scale), experiment.groups(scale, records)
        verdicts = tuple(claim.verdict(groups, scale) for claim in here.claims)
        missing = tuple(name for name in scale.select(experiment.series) if name not in groups)
        return cls(here, tuple(groups.values()), verdicts, missing)

    @property
    def figure(self) -> str:
        """Path of its figure, relative to the page."""
        return f"{FIGURES}/{self.experiment.name}.svg"

    def write_figure(self, folder: Path) -> Path | None:
        """Write its figure, if it has one and there are results."""
        if self.experiment.draw is None or not self.groups:
            return None
        return write(self.experiment.draw, self.groups, folder / self.figure, STYLES["light"])


def write_page(path: Path, reproductions: Sequence[Reproduction], scale: Scale, title: str) -> None:
    """Write the page; the conclusions of a page that is there are kept."""
    files.make_folder(path.parent)
    files.write(path, page(reproductions, scale, title, conclusions_of(path)).encode())


def conclusions_of(path: Path) -> str:
    """The hand-written part of a page; empty if there is none."""
    text = path.read_text("utf-8") if path.is_file() else ""
    _, _, rest = text.partition(f"{CONCLUSIONS}\n")
    conclusions, end, _ = rest.partition(f"\n{END_OF_CONCLUSIONS}")
    return conclusions if end else ""


def page(reproductions: Sequence[Reproduction], scale: Scale, title: str, conclusions: str = "") -> str:
    """The page in Markdown: conclusions, tables of all claims, then a section for each experiment."""
    parts = [f"# {title}", "", f"{scale.description} {_total_time(reproductions)} {LEGENDS}", ""]
    if conclusions:
        parts += [CONCLUSIONS, conclusions, END_OF_CONCLUSIONS, ""]
    parts += _claims_table("Claim of the paper", _claims(reproductions, are_ours=False))
    if ours := list(_claims(reproductions, are_ours=True)):
        parts += ["", "What the paper does not claim:", "", *_claims_table("Statement of ours", ours)]
    for each in reproductions:
        parts += ["", *_section(each)]
    return "\n".join(parts) + "\n"


def _total_time(reproductions: Sequence[Reproduction]) -> str:
    """Duration of all runs; each counts once."""
    runs = (run for each in reproductions for group in each.groups for run in group.runs)
    seconds = {run.record.folder: run.seconds for run in runs}
    if not seconds:
        return "No run is finished yet."
    total = format_duration(math.fsum(seconds.values()))
    return f"The {_count(len(seconds), 'run')} of this page took {total} in total, each on one core."


def _claims(reproductions: Sequence[Reproduction], *, are_ours: bool) -> Iterator[str]:
    """Rows of the claims of the paper, or of our own statements, with their verdicts."""
    for each in reproductions:
        name = f"[{each.experiment.name}](#{each.experiment.name})"
        for claim, verdict in zip(each.experiment.claims, each.verdicts, strict=True):
            if claim.is_ours == are_ours:
                mark = NOT_RUN if verdict is None else verdict.mark
                mark = f"**{mark}**" if mark == "no" else mark
                yield f"| {name} | {claim.text} | {mark} | {verdict.observed if verdict else ''} |"


def _claims_table(heading: str, rows: Iterable[str]) -> Iterator[str]:
    yield f"| | {heading} | Reproduced | Observed |"
    yield "|---|---|---|---|"
    yield from rows


def _section(reproduction: Reproduction) -> Iterator[str]:
    experiment = reproduction.experiment
    yield f"## {experiment.name}"
    yield ""
    yield f"{experiment.title}. `everlearn reproduce {experiment.name}`"
    if experiment.draw is not None and reproduction.groups:
        yield f"\n![{experiment.title}]({reproduction.figure})"
        yield f"\n*{_caption(reproduction.groups)}*"
    if experiment.note:
        yield f"\n{experiment.note}"
    if reproduction.groups:
        yield ""
        yield from _table(reproduction.groups, experiment.columns)
    if reproduction.missing:
        yield f"\nNot run yet: {'; '.join(reproduction.missing)}."


def _caption(groups: Sequence[Group]) -> str:
    """The number of tasks and seeds of each line.

    Lines with equal numbers are listed together.
    """
    names: dict[str, list[str]] = {}
    for group in groups:
        names.setdefault(f"{_count(group.n_tasks, 'task')}, {_count(len(group.runs), 'seed')}", []).append(
            group.short
        )
    return "; ".join(f"{', '.join(lines)}: {numbers}" for numbers, lines in names.items()) + "."


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _table(groups: Sequence[Group], columns: Sequence[Column]) -> Iterator[str]:
    """Supervision, results and cost of each series; the given columns come first."""
    n = min(group.n_tasks for group in groups)
    early = Column(f"after {n}", "", lambda group: format_score(_accuracy_after(group, n)), "results")
    each = Column(EACH_SEED, "", each_seed, "results")
    columns = [*columns, early, *(column for column in COLUMNS if column.heading in SHOWN), each]
    columns = [column for column in columns if any(column.cell(group) != DASH for group in groups)]
    yield "| " + " | ".join(["learner", "supervision", *(column.heading for column in columns)]) + " |"
    yield "|---" * (2 + len(columns)) + "|"
    for group in groups:
        supervision = str(group.runs[0].started.get("supervision", ""))
        cells = [group.short, supervision, *(column.cell(group) for column in columns)]
        yield "| " + " | ".join(cells) + " |"


def _accuracy_after(group: Group, n_tasks: int) -> Interval | None:
    curves = [run.accuracy() for run in group.runs]
    return interval_over([curve[n_tasks] for curve in curves if n_tasks in curve], UNIT)
