"""Figures that several papers share, with the order and the names of series that an experiment gives."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from everlearn.evaluation.protocols.multiple_choice import Choice
from everlearn.reports.axes import canvas, count_along, name_lines, share_axis
from everlearn.reports.groups import Group
from everlearn.reports.multiple_choice_figure import drawn
from everlearn.reports.run_results import Findings
from everlearn.reports.style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOG_RATIO = 4
"""Runs whose numbers of tasks differ by more than this factor are drawn over a logarithmic axis."""
CLOSE_UP = 0.95
"""Lower end of the axis of a close-up."""


def accuracy_curves(groups: Sequence[Group], look: Look, *, bottom: float = 0.0) -> "Figure":
    """Average accuracy on all tasks seen so far: the mean over seeds, and thin lines for single seeds."""
    figure, (axes,) = canvas(1)
    for number, group in enumerate(groups):
        curve = group.line(Findings.accuracy)
        axes.plot(curve.x, curve.mean, color=look.colour(number), linestyle=look.dash(number))
    for number, group in enumerate(groups):
        for run in group.runs if len(group.runs) > 1 else ():
            points = run.accuracy()
            colour = look.colour(number)
            axes.plot(list(points), list(points.values()), color=colour, alpha=0.35, linewidth=0.6)
    axes.grid(axis="y")
    axes.set_xlabel("tasks learned")
    _scale_tasks(axes, [group.n_tasks for group in groups])
    share_axis(axes, "average accuracy", bottom)
    name_lines(axes, [group.short for group in groups], look)
    return figure


def accuracy_close_up(groups: Sequence[Group], look: Look) -> "Figure":
    """The same from 95 % to 100 %."""
    return accuracy_curves(groups, look, bottom=CLOSE_UP)


def _scale_tasks(axes: "Axes", lengths: Sequence[int]) -> None:
    """Use a logarithmic axis if runs have very different numbers of tasks."""
    if max(lengths) > LOG_RATIO * min(lengths):
        axes.set_xscale("log")
        ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000) if n <= max(lengths)]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
    else:
        count_along(axes.xaxis)


def multiple_choice(groups: Sequence[Group], look: Look) -> "Figure":
    """Accuracy of the multiple-choice test over the number of choices, all seeds pooled."""
    return drawn(pooled_choices([run for group in groups for run in group.runs]), look)


def pooled_choices(runs: Sequence[Findings]) -> Mapping[str, Sequence[Choice]]:
    """The results of each method, summed over all runs."""
    counts: dict[str, dict[int, list[int]]] = {}
    for result in (run.answers["choice"]["answers"] for run in runs if "choice" in run.answers):
        for name, rows in result.items():
            for row in rows:
                sums = counts.setdefault(name, {}).setdefault(row["n_choices"], [0, 0])
                sums[:] = np.add(sums, [row["n_right"], row["n_trials"]]).tolist()
    return {
        name: [Choice(n_choices=n, n_trials=trials, n_right=right) for n, (right, trials) in sums.items()]
        for name, sums in counts.items()
    }
