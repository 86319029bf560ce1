"""Figures of the paper: accuracy over tasks on both test sets, and over how good patterns are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.papers.negative.dial import ROLES, along
from everlearn.papers.negative.readings import final, growing, named, whole
from everlearn.papers.seeds import measured
from everlearn.reports.axes import canvas, draw_lines, name_lines, share_axis
from everlearn.reports.groups import Group
from everlearn.reports.style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCENARIOS = {"nc": "new classes in every task", "nic": "single sessions of single classes"}
STILL = ("none", "free")
"""Those that replay nothing."""


def both_sets(groups: Sequence[Group], look: Look) -> "Figure":
    """Accuracy after each task on the whole test set, and on that of the classes met."""
    figure, panels = canvas(2)
    for axes, curve, title in zip(panels, (whole, growing), ("whole", "growing"), strict=True):
        draw_lines(axes, [group.line(curve) for group in groups], look, bands=False)
        axes.set_title(f"{title} test set")
        share_axis(axes, "accuracy")
        name_lines(axes, [group.short for group in groups], look)
    return figure


def along_the_dial(groups: Sequence[Group], look: Look) -> "Figure":
    """Accuracy at the end of both roles over how good patterns are, one panel for each scenario."""
    figure, panels = canvas(2)
    ends = {group.name: found.mean for group in groups if (found := measured(group, final))}
    for axes, (scenario, title) in zip(panels, SCENARIOS.items(), strict=True):
        for number, role in enumerate(ROLES):
            _draw(axes, number, [ends.get(name) for name in along(scenario, role).values()], look)
        for number, still in enumerate(STILL, len(ROLES)):
            _draw(axes, number, len(along(scenario, "PR")) * [ends.get(f"{scenario} {still}")], look)
        axes.grid(axis="y")
        axes.set_title(title)
        axes.set_xlabel("patterns replayed")
        axes.set_xticks(range(len(along(scenario, "PR"))), _levels(groups, scenario))
        share_axis(axes, "accuracy at the end")
        name_lines(axes, [*(f"{role} replay" for role in ROLES.values()), *STILL], look)
    return figure


def _levels(groups: Sequence[Group], scenario: str) -> list[str]:
    """The levels of the dial, with the share of their patterns named rightly where it is known."""
    shares = {group.name: found.mean for group in groups if (found := measured(group, named))}
    return [
        f"{level}\n{shares[name]:.0%} named" if name in shares else level
        for level, name in along(scenario, "NR").items()
    ]


def _draw(axes: "Axes", number: int, values: Sequence[float | None], look: Look) -> None:
    points = {place: value for place, value in enumerate(values) if value is not None}
    marker = "o" if number < len(ROLES) else ""
    (line,) = axes.plot(list(points), list(points.values()), marker=marker)
    line.set(color=look.colour(number), linestyle=look.dash(number))
