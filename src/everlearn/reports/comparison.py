"""Runs beside each other: in the terminal, as JSON, as CSV."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from everlearn.evaluation import Interval
from everlearn.reports.formatting import DASH, amount, digits, duration, share
from everlearn.reports.groups import Group, group, interval

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

    from everlearn.runs import Record


def switches(group: Group) -> str:
    """Changes of environment that were rightly found, of how many there were; all seeds together."""
    found = list(_detections(group))
    return f"{_sum(found, 'n_right')} of {_sum(found, 'n_changes')}" if found else DASH


def noticed(group: Group) -> str:
    """Batches until the last change was noticed, in the slowest of all seeds."""
    late = [each["latest"] for each in _detections(group) if each["latest"] is not None]
    return f"{max(late):.0f}" if late else DASH


def made_up(group: Group) -> str:
    """Environments found where there was none, in 10,000 batches."""
    return share(interval([each["false_new"] for each in _detections(group)]))


def latents(group: Group) -> str:
    """Latents in use anywhere, and of these, those used in several environments."""
    used = [np.array([each["used"] for each in answer["latents"]]).sum(axis=0) for answer in answers(group)]
    there = ", ".join(f"{(n > 0).sum()} ({(n > 1).sum()})" for n in used)
    return there or DASH


def answers(group: Group) -> Iterator[Mapping[str, Any]]:
    """What each run answered, of those that were asked."""
    return (run.answers["environments"] for run in group.runs if "environments" in run.answers)


def _detections(group: Group) -> Iterator[Mapping[str, Any]]:
    return (answer["detection"] for answer in answers(group) if answer["detection"])


def _sum(rows: list[Mapping[str, Any]], name: str) -> int:
    return sum(int(row[name]) for row in rows)


class Column(NamedTuple):
    """A column of the tables for people.

    Attributes:
        heading: one or two words.
        meaning: what the number says.
        cell: its text for a group.
        part: the table it belongs to: what was played, how well it went, or at what cost.
    """

    heading: str
    meaning: str
    cell: Callable[[Group], str]
    part: Literal["played", "well", "cost"]


def _column(heading: str, meaning: str, measure: str, form: Callable[[Interval | None], str]) -> Column:
    part: Literal["well", "cost"] = "well" if form in (share, digits) else "cost"
    return Column(heading, meaning, lambda group: form(group.intervals[measure]), part)


in_bytes = partial(amount, unit="B")

FORWARD = "transfer: accuracy on tasks not yet learned beyond chance; nothing where all their labels are new"
SINCE = "from the best while an environment was shown to the end"
AFTER = "from the end of an environment to the mean of all that came after"

COLUMNS = (
    Column("learner", "who learned, and what sets it apart", lambda group: group.short, "played"),
    Column("tasks", "played so far", lambda group: _tasks(group), "played"),
    Column("seeds", "runs that differ only in their seeds", lambda group: str(len(group.runs)), "played"),
    _column("accuracy", "at the end, mean over all tasks", "average_accuracy", share),
    _column("on the way", "mean over all evaluations", "average_incremental_accuracy", share),
    _column("forgetting", "fall of earlier tasks from their best", "forgetting", share),
    _column("backward", "transfer: what later tasks did to earlier ones", "backward_transfer", share),
    _column("forward", FORWARD, "forward_transfer", share),
    _column("learning", "curve: accuracy over the first 10 batches of a task", "learning_curve_area", share),
    _column("worst case", "accuracy that could be relied on at every moment", "worst_case_accuracy", share),
    _column(
        "objects", "named from codes by probes at the end, mean over environments", "object_final", share
    ),
    _column("best", "of objects named from codes, at the best moment of each probe", "object_best", share),
    _column("change", f"of objects named from codes, {SINCE}", "object_change", share),
    _column("afterwards", f"of objects named from codes, {AFTER}", "object_after", share),
    _column("places", "mean squared error of places read from codes at the end", "position_final", digits),
    _column("closest", "error of places, at the best moment of each probe", "position_best", digits),
    _column("drift", f"of the error of places, {SINCE}", "position_change", digits),
    _column("drift after", f"of the error of places, {AFTER}", "position_after", digits),
    Column("switches", "changes of environment rightly found, of all", switches, "well"),
    Column("noticed", "batches until the last of them was noticed", noticed, "well"),
    Column("made up", "environments where there was none, in 10,000 batches", made_up, "well"),
    Column("latents", "in use for each seed (in several environments)", latents, "well"),
    _column("time", "of the whole run, on its machine", "seconds", duration),
    _column("images", "learned from, each as often as it was shown", "images", amount),
    _column("FLOPs", "estimated operations spent on learning", "flops", amount),
    _column("weights", "bytes of learned parameters", "weights_bytes", in_bytes),
    _column("memory", "bytes kept of the past", "memory_bytes", in_bytes),
)
READ = ("best", "change", "closest", "drift", "switches")
"""What is said of learners that answer nothing."""
BRIEF = ("learner", "tasks", "seeds", "accuracy", "forgetting", *READ, "time", "weights", "memory")
"""What fits into a terminal."""


@dataclass(frozen=True)
class Comparison:
    """Groups of runs beside each other, the most accurate first.

    Attributes:
        groups: runs of the same spec, one group for each.
    """

    groups: tuple[Group, ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each group; None where a number is undefined."""
        return [_row(group) for group in self.groups]

    def columns(self) -> list[Column]:
        """The columns in which at least one group has something to say."""
        return [column for column in COLUMNS if any(column.cell(group) != DASH for group in self.groups)]

    def table(self) -> "Table":
        """The table for a terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        columns = [column for column in self.columns() if column.heading in BRIEF]
        table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for column in columns:
            side: JustifyMethod = "left" if column.heading == "learner" else "right"
            table.add_column(column.heading, justify=side, min_width=len(column.heading), overflow="fold")
        for each in self.groups:
            table.add_row(*(column.cell(each) for column in columns))
        return table

    def csv(self) -> str:
        """All rows as comma-separated values, nothing where a number is undefined."""
        rows, text = self.rows, io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            lists = {name: " ".join(map(str, cell)) for name, cell in row.items() if isinstance(cell, list)}
            writer.writerow({**row, **lists})
        return text.getvalue()


def compare(records: Sequence["Record"]) -> Comparison:
    """Put runs beside each other; those that differ only in their seeds become one row with intervals.

    Intervals are Student's, 95 %; `_low` and `_high` in the rows are their ends.
    """
    return Comparison(tuple(group(records)))


def _row(group: Group) -> dict[str, Any]:
    started = [run.started for run in group.runs]
    row: dict[str, Any] = {
        "name": group.name,
        "learner": group.runs[0].record.spec["learner"]["name"],
        "given": started[0].get("given"),
        "stream": started[0].get("stream"),
        "fingerprints": sorted({start["fingerprint"] for start in started if start}),
        "tasks": group.n_tasks,
        "finished": _is_finished(group),
        "seeds": [run.record.spec["seed"] for run in group.runs],
        "records": [str(run.record.folder) for run in group.runs],
    }
    for name, each in group.intervals.items():
        has_ends = each is not None and each.n > 1
        row[name] = each.mean if each is not None else None
        row[f"{name}_low"] = each.low if each is not None and has_ends else None
        row[f"{name}_high"] = each.high if each is not None and has_ends else None
    return row


def _is_finished(group: Group) -> bool:
    return all(run.started.get("n_tasks") == run.n_tasks for run in group.runs)


def _tasks(group: Group) -> str:
    if _is_finished(group):
        return str(group.n_tasks)
    return f"{group.n_tasks} of {group.runs[0].started.get('n_tasks', '?')}"
