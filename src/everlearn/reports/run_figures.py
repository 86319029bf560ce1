"""What figures show: one function for each kind, from groups of runs to a drawing."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from everlearn.errors import BadInput
from everlearn.evaluation import Interval
from everlearn.reports.axes import (
    broken,
    canvas,
    draw_bars,
    draw_lines,
    draw_table,
    mean_table,
    name_lines,
    share_axis,
)
from everlearn.reports.formatting import amount, duration, share
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings, Points
from everlearn.reports.style import Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Groups = Sequence[Group]
Drawing = Callable[[Groups, Look], "Figure"]

PANELS = 4
"""Score tables in a row."""
WRITTEN = 24
"""Up to so many cells in a row of figures each score is also written."""
FACTORS = {
    "scale": "scale (relative)",
    "angle": "angle (radians)",
    "position": "position (of image)",
}


class NothingToDraw(BadInput):
    """The records do not hold what the figure is about."""


def accuracy(groups: Groups, look: Look) -> "Figure":
    """Average accuracy on all tasks seen so far, after each task."""
    lines = [each.line(Findings.accuracy) for each in groups]
    if all(run.probings for each in groups for run in each.runs):
        raise NothingToDraw("none of these learners answers; see `probes` for what their codes say")
    figure, (axes,) = canvas(1)
    draw_lines(axes, lines, look)
    share_axis(axes, "average accuracy")
    name_lines(axes, _names(groups), look)
    return figure


def forgetting(groups: Groups, look: Look) -> "Figure":
    """How far earlier tasks have fallen from their best, after each task."""
    lines = [each.line(Findings.forgetting) for each in groups]
    if not any(len(line.x) for line in lines):
        raise NothingToDraw("nothing can be forgotten before the second task; play at least 2 and score them")
    figure, (axes,) = canvas(1)
    draw_lines(axes, lines, look)
    axes.axhline(0, color=look.ink, linewidth=0.6)
    axes.set_ylabel("forgetting")
    name_lines(axes, _names(groups), look)
    return figure


def scores(groups: Groups, look: Look) -> "Figure":
    """Accuracy on every task after every task, as a heat map for each learner."""
    tables = [mean_table([run.scores for run in each.runs]) for each in groups]
    if not any(table.size for table in tables):
        raise NothingToDraw("no task was scored yet; play at least one")
    columns = math.ceil(len(groups) / math.ceil(len(groups) / PANELS))
    sizes = [max(run.scores.n_tasks for run in each.runs) for each in groups]
    figure, panels = canvas(
        len(groups), columns=columns, panel_height=min(2.2, 5.5 / columns), width=1.2 + 2.4 * columns
    )
    for axes, each, table, n in zip(panels, groups, tables, sizes, strict=True):
        heat = draw_table(axes, table, n, look, written=columns * max(sizes) <= WRITTEN)
        axes.set_title(broken(each.short))
    panels[0].set_ylabel("after task")
    bar = figure.colorbar(heat, ax=panels, label="accuracy", fraction=0.05)
    bar.outline.set_visible(False)
    return figure


def cost(groups: Groups, look: Look) -> "Figure":
    """What learning took and what is held, beside the accuracy it bought."""
    n_lines = max(1 + each.short.count(",") for each in groups)
    height = 0.3 + len(groups) * max(0.26, 0.08 + 0.12 * n_lines)
    figure, panels = canvas(5, columns=5, panel_height=height, share_y=True)
    measures = [each.intervals for each in groups]
    named = [row["average_accuracy"] or row["object_final"] for row in measures]
    draw_bars(panels[0], "accuracy", named, share, look, full=1.0)
    draw_bars(panels[1], "time", [row["seconds"] for row in measures], duration, look)
    draw_bars(panels[2], "images", [row["images"] for row in measures], amount, look)
    draw_bars(panels[3], "FLOPs", [row["flops"] for row in measures], amount, look)
    held = [_sum(row["weights_bytes"], row["memory_bytes"]) for row in measures]
    draw_bars(panels[4], "bytes held", held, partial(amount, unit="B"), look)
    panels[0].set_yticks(range(len(groups)), [broken(each.short) for each in groups])
    panels[0].invert_yaxis()
    return figure


def learning(groups: Groups, look: Look) -> "Figure":
    """Accuracy inside tasks: on the one being learned, and on the earlier ones meanwhile."""
    if not any(run.looked_inside for each in groups for run in each.runs):
        raise NothingToDraw(
            "no run was scored inside its tasks; play one with --set evaluation.inside_every=10"
        )
    figure, panels = canvas(2, columns=1, panel_height=1.6, share_x=True)
    for axes, earlier in zip(panels, (False, True), strict=True):
        lines = [each.line(partial(Findings.learning, earlier=earlier)) for each in groups]
        draw_lines(axes, lines, look, marks=False)
        share_axis(axes, "accuracy")
        axes.set_title("on earlier tasks" if earlier else "on the task being learned")
        name_lines(axes, _names(groups), look)
    panels[0].set_xlabel("")
    return figure


def factors(groups: Groups, look: Look) -> "Figure":
    """How far off estimates of scale, angle and place are, after each task."""
    estimated = {factor for each in groups for run in each.runs for factor in run.factors}
    if not estimated:
        raise NothingToDraw("none of these learners estimates factors; dcl does")
    shown = [name for name in FACTORS if name in estimated]
    figure, panels = canvas(len(shown), columns=len(shown), panel_height=2.0)
    for axes, name in zip(panels, shown, strict=True):
        draw_lines(axes, [each.line(partial(_error_in, name)) for each in groups], look)
        axes.set_title(FACTORS[name])
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("mean error")
    name_lines(panels[-1], _names(groups), look)
    return figure


DRAWINGS: dict[str, Drawing] = {
    "accuracy": accuracy,
    "forgetting": forgetting,
    "scores": scores,
    "cost": cost,
    "learning": learning,
    "factors": factors,
}


def _names(groups: Groups) -> list[str]:
    return [each.short for each in groups]


def _sum(first: Interval | None, second: Interval | None) -> Interval | None:
    """What two parts hold together, without saying how sure that is."""
    if first is None or second is None:
        return None
    return Interval(first.mean + second.mean, math.nan, math.nan, 1)


def _error_in(factor: str, run: Findings) -> Points:
    return run.factor_error(factor)
