"""Figures of the paper: accuracy over tasks on both test sets, and over how worn generated patterns are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.papers.negative.dial import WEARS, dialled
from everlearn.papers.negative.readings import final, growing, whole
from everlearn.papers.seeds import measured
from everlearn.reports.groups import Group
from everlearn.reports.looks import Look
from everlearn.reports.panels import canvas, count_along, draw_lines, name_lines, share_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCENARIOS = {"nc": "new classes in every task", "nic": "single sessions of single classes"}


def both_sets(groups: Sequence[Group], look: Look) -> "Figure":
    """Accuracy after each task on the whole test set, and on that of the classes met."""
    figure, panels = canvas(2)
    for axes, curve, title in zip(panels, (whole, growing), ("whole", "growing"), strict=True):
        draw_lines(axes, [group.line(curve) for group in groups], look)
        axes.grid(axis="y")
        axes.set_title(f"{title} test set")
        axes.set_xlabel("tasks learned")
        count_along(axes.xaxis)
        share_axis(axes, "accuracy")
        name_lines(axes, [group.short for group in groups], look)
    return figure


def against_wear(groups: Sequence[Group], look: Look) -> "Figure":
    """Accuracy at the end over the wear of generated patterns, one panel for each scenario."""
    figure, panels = canvas(2)
    for axes, (scenario, title) in zip(panels, SCENARIOS.items(), strict=True):
        curves = _curves([group for group in groups if group.name.startswith(f"{scenario} ")])
        for number, points in enumerate(curves.values()):
            # Who replays nothing generated is the same everywhere.
            x, y = (points, points.values()) if len(points) > 1 else ([0.0, max(WEARS)], 2 * [points[0.0]])
            marker = "o" if len(points) > 1 else ""
            axes.plot(list(x), list(y), color=look.colour(number), linestyle=look.dash(number), marker=marker)
        axes.grid(axis="y")
        axes.set_title(title)
        axes.set_xlabel("share of activations exchanged")
        share_axis(axes, "accuracy at the end")
        name_lines(axes, [name.split()[1] for name in curves], look)
    return figure


def _curves(groups: Sequence[Group]) -> dict[str, dict[float, float]]:
    """Accuracy at the end by place on the dial, for each line that was played with patterns as they come."""
    curves: dict[str, dict[float, float]] = {}
    for group in groups:
        name, wear = dialled(group.name)
        value = measured(group, final)
        if value is not None and (wear == 0 or name in curves):
            curves.setdefault(name, {})[wear] = value.mean
    return curves
