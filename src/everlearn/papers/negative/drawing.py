"""Figures of the paper: accuracy over tasks on both test sets, and over how bad generated patterns are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.papers.negative.dial import NOISES, dialled
from everlearn.papers.negative.readings import final, growing, whole
from everlearn.papers.seeds import measured
from everlearn.reports.groups import Group
from everlearn.reports.looks import Look
from everlearn.reports.panels import canvas, count_along, draw_lines, name_lines, share_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def against_noise(groups: Sequence[Group], look: Look) -> "Figure":
    """Final accuracy of positive and of negative replay over the noise on generated patterns."""
    figure, (axes,) = canvas(1)
    curves: dict[str, dict[float, float]] = {}
    for group in groups:
        name, noise = dialled(group.name)
        value = measured(group, final)
        if value is not None:
            curves.setdefault(name, {})[noise] = value.mean
    for number, points in enumerate(curves.values()):
        # Who replays nothing generated is the same at every noise.
        x = sorted(points) if len(points) > 1 else [0.0, max(NOISES)]
        y = [points.get(at, points[0.0]) for at in x]
        marker = "o" if len(points) > 1 else ""
        axes.plot(x, y, color=look.colour(number), linestyle=look.dash(number), marker=marker)
    axes.grid(axis="y")
    axes.set_xlabel("noise on generated patterns, in their standard deviation")
    share_axis(axes, "accuracy at the end")
    name_lines(axes, list(curves), look)
    return figure
