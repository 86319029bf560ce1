"""The colours of reports, for pages: both are one product."""

import io
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from csv import writer
from typing import TYPE_CHECKING, Literal

import numpy as np

from everlearn.errors import BadInput
from everlearn.reports.axes import canvas, draw_lines, draw_table, mean_table, name_lines
from everlearn.reports.groups import Line
from everlearn.reports.html_report import QUIET, RAISED
from everlearn.reports.style import LOOKS, Look, encoded, worn
from everlearn.runs import Record
from everlearn.studio.live_curves import CURVES, Point, curves, thinned, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""First letters, narrow and wide, that make a spreadsheet compute what a cell says."""


def curves_csv(records: Sequence[Record], names: Sequence[str]) -> str:
    """One line a point: which record, which curve, how many tasks were learned, what was measured."""
    head = ("record", "name", "curve", "tasks", "value")
    return _csv(
        head,
        (
            (*_about(record), curve, x, y)
            for record in records
            for curve, points in curves(record).items()
            if curve in names
            for x, y in points
        ),
    )


def scores_csv(record: Record) -> str:
    """One line a score: which record, after which task, on which task (both from 1), the accuracy."""
    about = _about(record)
    return _csv(
        ("record", "name", "after", "on", "accuracy"),
        (
            (*about, row.after + 1, task + 1, score)
            for row in record.score_table().rows()
            for task, score in zip(row.tasks.tolist(), row.scores.tolist(), strict=True)
        ),
    )


def _csv(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    table = writer(text)
    table.writerow(head)
    table.writerows(rows)
    return text.getvalue()


def _about(record: Record) -> tuple[str, str]:
    return _harmless(record.folder.name), _harmless(record.name)


def _harmless(words: str) -> str:
    """Words that a spreadsheet shows instead of obeying.

    Example:
        >>> _harmless("=1+1"), _harmless(" =1+1"), _harmless("dcl")
        ("'=1+1", "' =1+1", 'dcl')
    """
    return "'" + words if words.lstrip().startswith(FORMULAS) or words.startswith(FORMULAS) else words


Ending = Literal["svg", "png"]

WRITTEN = 12
"""Up to so many tasks each score is also written into its cell."""

_one_at_a_time = threading.Lock()


def curve_plot(
    records: Sequence[Record], curve: str, *, ending: Ending, dark: bool, span: tuple[float, float] | None
) -> bytes:
    """One curve of each of some records, as an SVG or PNG file.

    Args:
        records: the runs, in the order of their colours.
        curve: one of `CURVES`.
        ending: "svg" or "png".
        dark: whether it is for dark slides.
        span: from how many tasks to how many; all of it if not said.
    """
    lines = [_line(curves(record)[curve], span) for record in records]
    if not any(len(line.x) for line in lines):
        raise BadInput(f"there is nothing to draw: no {CURVES[curve]} was measured here yet")

    def draw(look: Look) -> "Figure":
        from matplotlib.ticker import EngFormatter

        figure, (axes,) = canvas(1)
        draw_lines(axes, lines, look)
        axes.set_ylabel(CURVES[curve])
        if curve == "bytes":
            axes.yaxis.set_major_formatter(EngFormatter("B"))
        axes.set_xlim(span)
        name_lines(axes, [_plain(record.name or record.folder.name) for record in records], look)
        return figure

    return _drawn(draw, ending, dark)


def score_plot(record: Record, *, ending: Ending, dark: bool) -> bytes:
    """The score table of a record, as an SVG or PNG file."""
    scores = record.score_table()
    table, n = mean_table([scores]), scores.n_tasks
    if not n:
        raise BadInput("there is nothing to draw: no task was scored yet")

    def draw(look: Look) -> "Figure":
        figure, (axes,) = canvas(1, panel_height=3.2, width=4.2)
        heat = draw_table(axes, table, n, look, written=n <= WRITTEN)
        axes.set_title(_plain(record.name or record.folder.name))
        axes.set_ylabel("after task")
        figure.colorbar(heat, ax=axes, label="accuracy", fraction=0.05).outline.set_visible(False)
        return figure

    return _drawn(draw, ending, dark)


def _drawn(draw: Callable[[Look], "Figure"], ending: Ending, dark: bool) -> bytes:
    look = LOOKS["dark" if dark else "paper"]
    # A look is worn by the whole process; letters that the font lacks are no reason to warn.
    with _one_at_a_time, warnings.catch_warnings(action="ignore", category=UserWarning), worn(look):
        return encoded(draw(look), ending)


def _line(points: Sequence[Point], span: tuple[float, float] | None) -> Line:
    shown = thinned(within(points, *span) if span else points)
    x, y = np.array(shown, np.float64).reshape(-1, 2).T
    nothing = np.full(len(x), np.nan)
    return Line(x, y, nothing, nothing)


def _plain(words: str) -> str:
    """Words in which a dollar is a dollar and begins no formula."""
    return words.replace("$", r"\$")


def colours() -> str:
    """A style sheet that names every colour in its light and its dark form.

    Example:
        >>> "--ink: light-dark(#1f2328, #e6e9ee);" in colours()
        True
    """
    day, night = LOOKS["paper"].roles, LOOKS["dark"].roles
    pairs = {role: (day[role], night[role]) for role in day} | {"quiet": QUIET, "raised": RAISED}
    lines = [f"  --{role}: light-dark({light}, {dark});\n" for role, (light, dark) in pairs.items()]
    return ":root {\n" + "".join(lines) + "}\n"
