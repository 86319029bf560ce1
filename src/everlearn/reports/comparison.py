"""Comparison of runs: rows over seeds with intervals, for the terminal, JSON, CSV, LaTeX and Markdown."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from everlearn.errors import import_optional
from everlearn.evaluation import METRICS, Interval, ScoreTable
from everlearn.evaluation.formatting import DASH, format_score
from everlearn.evaluation.intervals import interval_over, wilson_interval
from everlearn.reports.comparison_columns import COLUMNS, Column, is_finished
from everlearn.reports.comparison_notes import notes
from everlearn.reports.figures import Plot, plot
from everlearn.reports.groups import Group, group
from everlearn.runs.run_record import Record
from everlearn.settings import first_line

if TYPE_CHECKING:
    from rich.console import Group as RichGroup
    from rich.console import JustifyMethod
    from rich.table import Table

Metric = Callable[[ScoreTable], float]

DIFFERENCE = "Δ first"
PAIRED = "accuracy minus that of the first row, paired by seeds, with its 95 % interval"
N_FIRST = 4
"""Columns before the difference: up to the accuracy."""
MIN_PAIRS = 3
"""Shared seeds from which on a paired difference has an interval."""
BRIEF = (
    "learner", "tasks", "seeds", "accuracy", DIFFERENCE, "forgetting", "best", "Δ stage→end", "best MSE",
    "Δ MSE", "changes found", "time", "images", "FLOPs", "bytes", "answer",
)  # fmt: skip
"""Columns in a terminal."""
TEXT_WIDTH = 120
LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "±": r"$\pm$",
    "→": r"$\to$",
    "Δ": r"$\Delta$",
    "×": r"$\times$",
    "–": "--",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Comparison:
    """Groups of runs with equal settings, by decreasing accuracy.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> comparison = everlearn.compare([record])
        >>> comparison.rows[0]["learner"], comparison.to_csv().splitlines()[0][:30]
        ('nearest', 'name,learner,supervision,strea')
    """

    groups: tuple[Group, ...]
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # further columns

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each group as JSON values; None for undefined numbers."""
        return [
            {**_row(group, self.metrics), **_counts(group), **_numbers("difference", self._paired(group))}
            for group in self.groups
        ]

    @property
    def notes(self) -> list[str]:
        """The meaning of ±, counts of accuracies near 0 and 1, scores of few images, ignored records."""
        is_paired = any(self._paired(group) for group in self.groups)
        return [*([f"{DIFFERENCE}: {PAIRED}."] if is_paired else []), *notes(self.groups)]

    def columns(self) -> list[Column]:
        """The columns that are not empty."""
        own = [_metric_column(name, metric) for name, metric in self.metrics.items()]
        paired = Column(DIFFERENCE, PAIRED, self._difference, "results")
        every = (*COLUMNS[:N_FIRST], paired, *COLUMNS[N_FIRST:], *own)
        return [each for each in every if any(each.cell(group) != DASH for group in self.groups)]

    def _paired(self, group: Group) -> Interval | None:
        first = self.groups[0]
        return None if group is first else group.difference(first, "average_accuracy")

    def _difference(self, group: Group) -> str:
        gap = self._paired(group)
        return str(gap) if gap and gap.n >= MIN_PAIRS else format_score(gap and gap.mean)

    def text(self) -> "RichGroup":
        """The table and its notes for a terminal."""
        from rich.console import Group as RichGroup

        return RichGroup(self.table(), *self.notes)

    def table(self) -> "Table":
        """The table for a terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        columns = self.brief_columns()
        table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for column in columns:
            side: JustifyMethod = "left" if column.heading == "learner" else "right"
            table.add_column(column.heading, justify=side, min_width=len(column.heading), overflow="fold")
        for each in self.groups:
            table.add_row(*(column.cell(each) for column in columns))
        return table

    def plot(self, name: str = "accuracy", *, style: str = "light") -> Plot:
        """A figure of these runs, such as "accuracy" or "forgetting"."""
        return plot(name, self.groups, style=style)

    def __repr__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(width=TEXT_WIDTH, file=text, markup=False).print(self.text())  # names may contain brackets
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str:
        columns = self.columns()
        head = "".join(f'<th title="{escape(each.meaning)}">{escape(each.heading)}</th>' for each in columns)
        rows = ("".join(f"<td>{escape(each.cell(group))}</td>" for each in columns) for group in self.groups)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        below = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    def to_pandas(self) -> Any:
        """All rows as a pandas data frame; needs pandas."""
        return import_optional("pandas", "pip install pandas").DataFrame(self.rows)

    def to_latex(self) -> str:
        """The columns of the terminal table in LaTeX with booktabs, followed by the notes."""
        columns = self.brief_columns()
        lines = [" & ".join(escape_latex(each.heading) for each in columns)]
        lines += [" & ".join(escape_latex(each.cell(group)) for each in columns) for group in self.groups]
        head, *body = (rf"{line} \\" for line in lines)
        sides = "l" + "r" * (len(columns) - 1)
        table = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
        notes = [rf"\par{{\footnotesize {escape_latex(note)}}}" for note in self.notes]
        return "\n".join([*table, r"\end{tabular}", *notes]) + "\n"

    def to_markdown(self) -> str:
        """The columns of the terminal table in Markdown, followed by the notes."""
        columns = self.brief_columns()
        rows = [[each.heading for each in columns], ["---"] * len(columns)]
        rows += [[each.cell(group) for each in columns] for group in self.groups]
        lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def brief_columns(self) -> list[Column]:
        """The columns of the terminal table."""
        shown = {*BRIEF, *self.metrics}
        return [column for column in self.columns() if column.heading in shown]

    def to_csv(self) -> str:
        """All rows as comma-separated values; empty cells for undefined numbers."""
        rows, text = self.rows, io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            lists = {name: " ".join(map(str, cell)) for name, cell in row.items() if isinstance(cell, list)}
            writer.writerow({**row, **lists})
        return text.getvalue()


def compare(records: Sequence[Record], metrics: Sequence[str] = ()) -> Comparison:
    """Compare runs; those that differ in their seeds only become one row.

    In the rows, `_std` is the standard deviation over seeds, `_low` and `_high` are the bounds of Student's
    95 % interval; `correct` of `tested_images` in the last evaluations have Wilson's interval `count_low` to
    `count_high`; `difference` is paired by seeds with the first row. Metrics are functions of a score table,
    named as in `everlearn.evaluation.METRICS`, or such as "my_metrics.py:my_metric".

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> compare([record]).rows[0]["tasks"]
        2
    """
    own = {name.rpartition(":")[2]: METRICS.get(name) for name in metrics}
    return Comparison(tuple(group(records)), own)


def escape_latex(text: str) -> str:
    """Text with LaTeX's special characters escaped."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def _metric_column(name: str, metric: Metric) -> Column:
    meaning = first_line(metric.__doc__) or "a metric of the score table"
    return Column(name, meaning, lambda group: format_score(_over_seeds(group, metric)), "results")


def _over_seeds(group: Group, metric: Metric) -> Interval | None:
    return interval_over([float(metric(run.scores)) for run in group.runs])


def _row(group: Group, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    started = [run.started for run in group.runs]
    row: dict[str, Any] = {
        "name": group.name,
        "learner": group.runs[0].record.spec["learner"]["name"],
        "supervision": started[0].get("supervision"),
        "stream": started[0].get("stream"),
        "fingerprints": sorted({start["fingerprint"] for start in started if start}),
        "tasks": group.n_tasks,
        "finished": is_finished(group),
        "seeds": [run.record.spec["seed"] for run in group.runs],
        "records": [str(run.record.folder) for run in group.runs],
        "accuracies": [_nan_to_none(run.measures()["average_accuracy"]) for run in group.runs],
    }
    own = {name: _over_seeds(group, metric) for name, metric in metrics.items()}
    for name, interval in {**group.intervals, **own}.items():
        row |= _numbers(name, interval)
    return row


def _numbers(name: str, interval: Interval | None) -> dict[str, Any]:
    """A mean with its standard deviation and interval; None if undefined."""
    spread = ("std", "low", "high")
    bounded = interval if interval and interval.n > 1 else None
    more = {f"{name}_{each}": bounded and getattr(bounded, each) for each in spread}
    return {name: interval and interval.mean, **more}


def _counts(group: Group) -> dict[str, Any]:
    """Correct answers of the last evaluations, with Wilson's interval."""
    n_correct, n = group.tested
    found = wilson_interval(n_correct, n) if n else None
    counts = {"correct": n_correct, "tested_images": n}
    return {**counts, "count_low": found and found.low, "count_high": found and found.high}


def _nan_to_none(value: float) -> float | None:
    return None if math.isnan(value) else value
