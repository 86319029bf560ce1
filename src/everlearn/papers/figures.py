"""Figures that several papers share, with the order and the names of series that an experiment gives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.plotting.axes import canvas, integer_ticks, label_lines, unit_y_axis
from everlearn.plotting.style import FigureStyle
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOG_RATIO = 4
"""Runs whose numbers of tasks differ by more than this factor are drawn over a logarithmic axis."""
CLOSE_UP = 0.95
"""Lower end of the axis of a close-up."""


def accuracy_curves(groups: Sequence[Group], style: FigureStyle, *, bottom: float = 0.0) -> "Figure":
    """Average accuracy on all tasks seen so far: the mean over seeds, and thin lines for single seeds."""
    figure, (axes,) = canvas(1)
    for number, group in enumerate(groups):
        curve = group.series(RunResults.accuracy)
        axes.plot(curve.x, curve.mean, color=style.color(number), linestyle=style.linestyle(number))
    for number, group in enumerate(groups):
        for run in group.runs if len(group.runs) > 1 else ():
            points = run.accuracy()
            colour = style.color(number)
            axes.plot(list(points), list(points.values()), color=colour, alpha=0.35, linewidth=0.6)
    axes.grid(axis="y")
    axes.set_xlabel("tasks learned")
    _scale_tasks(axes, [group.n_tasks for group in groups])
    unit_y_axis(axes, "average accuracy", bottom)
    label_lines(axes, [group.short for group in groups], style)
    return figure


def accuracy_close_up(groups: Sequence[Group], style: FigureStyle) -> "Figure":
    """The same from 95 % to 100 %."""
    return accuracy_curves(groups, style, bottom=CLOSE_UP)


def _scale_tasks(axes: "Axes", lengths: Sequence[int]) -> None:
    """Use a logarithmic axis if runs have very different numbers of tasks."""
    if max(lengths) > LOG_RATIO * min(lengths):
        axes.set_xscale("log")
        ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000) if n <= max(lengths)]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
    else:
        integer_ticks(axes.xaxis)
