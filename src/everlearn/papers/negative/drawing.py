"""Figures of the paper: accuracy over tasks on both test sets, and over how bad generated patterns are."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.papers.negative.readings import final, growing, measured, whole
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
        x = sorted(points)
        axes.plot(
            x, [points[at] for at in x], color=look.colour(number), linestyle=look.dash(number), marker="o"
        )
    axes.grid(axis="y")
    axes.set_xlabel("noise on generated patterns, in their standard deviation")
    share_axis(axes, "accuracy at the end")
    name_lines(axes, list(curves), look)
    return figure


def dialled(name: str) -> tuple[str, float]:
    """A line's name without its noise, and the noise.

    Example:
        >>> dialled("nic PR-GD, noise 0.5"), dialled("nic PR-GD")
        (('nic PR-GD', 0.5), ('nic PR-GD', 0.0))
    """
    found = re.fullmatch(r"(.*), noise ([\d.]+)", name)
    return (found[1], float(found[2])) if found else (name, 0.0)
