"""Figures of exhibits: like those of reports, but in the order and under the names that the exhibit gives."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from everlearn.evaluation.protocols.multiple_choice import Choice
from everlearn.reports.axes import canvas, count_along, name_lines, share_axis
from everlearn.reports.groups import Group
from everlearn.reports.multiple_choice_figure import drawn
from everlearn.reports.protocol_figures import oneshot, openset
from everlearn.reports.run_results import Findings
from everlearn.reports.style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["choices", "close_up", "curves", "oneshot", "openset"]

FAR = 4
"""Runs whose lengths differ by more than so many times are drawn over a logarithm of tasks."""
CLOSE = 0.95
"""Where the axis of a close-up begins."""


def curves(groups: Sequence[Group], look: Look, *, bottom: float = 0.0) -> "Figure":
    """Average accuracy on all tasks seen so far: the mean over seeds, and each seed behind it."""
    figure, (axes,) = canvas(1)
    lengths = [group.n_tasks for group in groups]
    for number, group in enumerate(groups):
        line = group.line(Findings.accuracy)
        axes.plot(line.x, line.mean, color=look.colour(number), linestyle=look.dash(number))
    _draw_seeds(axes, groups, look)
    axes.grid(axis="y")
    axes.set_xlabel("tasks learned")
    _scale_tasks(axes, lengths)
    share_axis(axes, "average accuracy", bottom)
    name_lines(axes, [group.short for group in groups], look)
    return figure


def close_up(groups: Sequence[Group], look: Look) -> "Figure":
    """The same where all are so good that only the top of the axis tells them apart."""
    return curves(groups, look, bottom=CLOSE)


def _draw_seeds(axes: "Axes", groups: Sequence[Group], look: Look) -> None:
    for number, group in enumerate(groups):
        for run in group.runs if len(group.runs) > 1 else ():
            points = run.accuracy()
            axes.plot(
                list(points), list(points.values()), color=look.colour(number), alpha=0.35, linewidth=0.6
            )


def _scale_tasks(axes: "Axes", lengths: Sequence[int]) -> None:
    """Let a run of 500 tasks and one of 20 both be seen."""
    if max(lengths) > FAR * min(lengths):
        axes.set_xscale("log")
        ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000) if n <= max(lengths)]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
    else:
        count_along(axes.xaxis)


def choices(groups: Sequence[Group], look: Look) -> "Figure":
    """Who finds a thing again among several, against a guess; all seeds together."""
    return drawn(pooled_choices([run for group in groups for run in group.runs]), look)


def pooled_choices(runs: Sequence[Findings]) -> Mapping[str, Sequence[Choice]]:
    """Each chooser's answers in all runs, added up."""
    found: dict[str, dict[int, list[int]]] = {}
    for answer in (run.answers["choice"]["answers"] for run in runs if "choice" in run.answers):
        for name, counted in answer.items():
            for each in counted:
                sums = found.setdefault(name, {}).setdefault(each["n_choices"], [0, 0])
                sums[:] = np.add(sums, [each["n_right"], each["n_trials"]]).tolist()
    return {
        name: [Choice(n_choices=n, n_trials=trials, n_right=right) for n, (right, trials) in sums.items()]
        for name, sums in found.items()
    }
