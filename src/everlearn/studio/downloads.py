"""Curves, score matrices and comparisons as SVG, PNG, CSV and LaTeX files."""

import csv
import io
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from everlearn.errors import BadInput
from everlearn.evaluation.scores import mean_table
from everlearn.plotting.axes import canvas, draw_score_table, draw_series, label_lines
from everlearn.plotting.style import STYLES, FigureStyle, encode_figure, use_style
from everlearn.reports import Comparison
from everlearn.reports.comparison import escape_latex
from everlearn.runs import Record
from everlearn.studio.curve_groups import AXES, CurveView, Line, lines
from everlearn.studio.live_curves import CURVES, downsample, read_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FigureFormat = Literal["svg", "png"]

FORMULA_STARTS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""First characters, normal and full-width, of cells that a spreadsheet evaluates."""
MAX_ANNOTATED_TASKS = 12
"""Tasks up to which the cells of a score matrix show their values."""
N_LATEX_COLUMNS = 200
"""Resolution of a curve in LaTeX, which draws thousands of points slowly."""

_plot_lock = threading.Lock()
"""Matplotlib styles apply to the whole process."""


def curve_figure(
    records: Sequence[Record], view: CurveView, *, file_format: FigureFormat, dark: bool
) -> bytes:
    """One curve of several records, as an image file."""
    drawn, label = _lines(records, view)

    def draw(style: FigureStyle) -> "Figure":
        from matplotlib.ticker import EngFormatter

        figure, (axes,) = canvas(1)
        draw_series(axes, [line.series for line in drawn], style)
        axes.set_ylabel(label)
        axes.set_yscale("log" if view.is_log else "linear")
        if view.curve == "bytes":
            axes.yaxis.set_major_formatter(EngFormatter("B"))
        if view.axis != "tasks":
            axes.set_xlabel(AXES[view.axis][1])
            axes.xaxis.set_major_formatter(EngFormatter())
        axes.set_xlim(view.x_range)
        label_lines(axes, [_plain(line.title) for line in drawn], style)
        _draw_seeds(axes, drawn, style)
        return figure

    return _render(draw, file_format, dark)


def _lines(records: Sequence[Record], view: CurveView) -> tuple[list[Line], str]:
    """The lines of a figure, at least one with points, and the label of their axis."""
    drawn = lines(records, view)
    label = CURVES[view.curve] + (", difference" if view.baseline else "")
    if not any(len(line.series.x) for line in drawn):
        raise BadInput(f"there is no data to plot: {label} has not been measured yet")
    return drawn, label


def curve_latex(records: Sequence[Record], view: CurveView) -> str:
    """One curve of several records as a figure for LaTeX, drawn by pgfplots; only means of groups."""
    drawn, label = _lines(records, view)
    options = [f"xlabel={{{AXES[view.axis][1]}}}", f"ylabel={{{label}}}", "legend pos=outer north east"]
    options += ["ymode=log"] if view.is_log else []
    plots = [
        rf"\addplot+[mark=none] coordinates {{{_coordinates(line)}}};"
        "\n"
        rf"\addlegendentry{{{escape_latex(line.title)}}}"
        for line in drawn
    ]
    start = "% \\usepackage{pgfplots}\n\\begin{tikzpicture}\n\\begin{axis}"
    return "\n".join([f"{start}[{', '.join(options)}]", *plots, r"\end{axis}", r"\end{tikzpicture}", ""])


def _coordinates(line: Line) -> str:
    points = list(zip(line.series.x.tolist(), line.series.mean.tolist(), strict=True))
    return " ".join(f"({x:.6g},{y:.6g})" for x, y in downsample(points, N_LATEX_COLUMNS))


def _draw_seeds(axes: "Axes", drawn: Sequence[Line], style: FigureStyle) -> None:
    """Thin lines of the runs behind their mean."""
    for number, line in enumerate(drawn):
        for seed in line.seeds:
            axes.plot(seed.x, seed.mean, color=style.color(number), linewidth=0.6, alpha=0.5, zorder=1)


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


def _title(record: Record) -> str:
    return _plain(record.name or record.folder.name)


def _plain(text: str) -> str:
    """Text with escaped dollar signs, which would start a formula."""
    return text.replace("$", r"\$")


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


def scores_latex(record: Record) -> str:
    """The score matrix as a LaTeX table, with the rules of booktabs; of blocks if there are many tasks."""
    table = mean_table([record.scores])
    head = " & ".join(["after task", *(str(task + 1) for task in range(len(table)))])
    body = [
        " & ".join([str(task + 1), *("" if math.isnan(cell) else f"{cell:.3f}" for cell in row)])
        for task, row in enumerate(table.tolist())
    ]
    rows = [rf"{row} \\" for row in (head, *body)]
    start = rf"\begin{{tabular}}{{r{'r' * len(table)}}}"
    return "\n".join(
        [start, r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}", ""]
    )


def comparison_csv(comparison: Comparison) -> str:
    """All numbers of a comparison, one row per group."""
    rows = comparison.rows
    return _csv(rows[0], ([_cell(value) for value in row.values()] for row in rows))


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return _escape_formula(value) if isinstance(value, str) else value


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
