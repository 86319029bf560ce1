"""Curves and score matrices as SVG, PNG and CSV files."""

import csv
import io
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from everlearn.errors import BadInput
from everlearn.evaluation.scores import mean_table
from everlearn.plotting.axes import Series, canvas, draw_score_table, draw_series, label_lines
from everlearn.plotting.style import STYLES, FigureStyle, encode_figure, use_style
from everlearn.runs import Record
from everlearn.studio.live_curves import CURVES, Point, crop, downsample, read_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FigureFormat = Literal["svg", "png"]

FORMULA_STARTS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""First characters, normal and full-width, of cells that a spreadsheet evaluates."""
MAX_ANNOTATED_TASKS = 12
"""Tasks up to which the cells of a score matrix show their values."""

_plot_lock = threading.Lock()
"""Matplotlib styles apply to the whole process."""


def curve_figure(
    records: Sequence[Record],
    curve: str,
    *,
    file_format: FigureFormat,
    dark: bool,
    task_range: tuple[float, float] | None,
) -> bytes:
    """One curve of several records, as an image file."""
    lines = [_line(read_curves(record)[curve], task_range) for record in records]
    if not any(len(line.x) for line in lines):
        raise BadInput(f"there is no data to plot: {CURVES[curve]} has not been measured yet")

    def draw(style: FigureStyle) -> "Figure":
        from matplotlib.ticker import EngFormatter

        figure, (axes,) = canvas(1)
        draw_series(axes, lines, style)
        axes.set_ylabel(CURVES[curve])
        if curve == "bytes":
            axes.yaxis.set_major_formatter(EngFormatter("B"))
        axes.set_xlim(task_range)
        label_lines(axes, [_title(record) for record in records], style)
        return figure

    return _render(draw, file_format, dark)


def score_figure(record: Record, *, file_format: FigureFormat, dark: bool) -> bytes:
    """The score matrix of a record, as an image file."""
    scores = record.scores
    table, n_tasks = mean_table([scores]), scores.n_tasks
    if not n_tasks:
        raise BadInput("there is no data to plot: no task has been evaluated yet")

    def draw(style: FigureStyle) -> "Figure":
        figure, (axes,) = canvas(1, panel_height=3.2, width=4.2)
        heat = draw_score_table(axes, table, n_tasks, style, with_text=n_tasks <= MAX_ANNOTATED_TASKS)
        axes.set_title(_title(record))
        axes.set_ylabel("after task")
        figure.colorbar(heat, ax=axes, label="accuracy", fraction=0.05).outline.set_visible(False)
        return figure

    return _render(draw, file_format, dark)


def _line(points: Sequence[Point], task_range: tuple[float, float] | None) -> Series:
    shown = downsample(crop(points, *task_range) if task_range else points)
    x, y = np.array(shown, np.float64).reshape(-1, 2).T
    no_band = np.full(len(x), np.nan)
    return Series(x, y, no_band, no_band)


def _title(record: Record) -> str:
    """The name of a record, with dollar signs escaped, which would start a formula."""
    return (record.name or record.folder.name).replace("$", r"\$")


def _render(draw: Callable[[FigureStyle], "Figure"], file_format: FigureFormat, dark: bool) -> bytes:
    style = STYLES["dark" if dark else "light"]
    # Matplotlib warns about characters that the font lacks.
    with _plot_lock, warnings.catch_warnings(action="ignore", category=UserWarning), use_style(style):
        return encode_figure(draw(style), file_format)


def curves_csv(records: Sequence[Record], names: Sequence[str]) -> str:
    """One row per point: record, name, curve, tasks trained on, value."""
    return _csv(
        ("record", "name", "curve", "tasks", "value"),
        (
            (*_names(record), curve, x, y)
            for record in records
            for curve, points in read_curves(record).items()
            if curve in names
            for x, y in points
        ),
    )


def scores_csv(record: Record) -> str:
    """One row per score: record, name, last task trained on, evaluated task (both from 1), accuracy."""
    return _csv(
        ("record", "name", "after", "on", "accuracy"),
        (
            (*_names(record), row.after + 1, task + 1, score)
            for row in record.scores.rows()
            for task, score in zip(row.tasks.tolist(), row.scores.tolist(), strict=True)
        ),
    )


def _csv(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _names(record: Record) -> tuple[str, str]:
    return _escape_formula(record.folder.name), _escape_formula(record.name)


def _escape_formula(text: str) -> str:
    """Prefix a quote to text that a spreadsheet would evaluate.

    Example:
        >>> _escape_formula("=1+1"), _escape_formula(" =1+1"), _escape_formula("dcl")
        ("'=1+1", "' =1+1", 'dcl')
    """
    is_formula = text.lstrip().startswith(FORMULA_STARTS) or text.startswith(FORMULA_STARTS)
    return "'" + text if is_formula else text
