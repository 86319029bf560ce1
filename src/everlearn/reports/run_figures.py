"""Figures of runs: accuracy, forgetting, score tables, cost, accuracy within tasks, factor errors."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from everlearn.evaluation import Interval, formatting
from everlearn.evaluation.intervals import NOT_NEGATIVE, SIGNED_UNIT, UNIT
from everlearn.evaluation.metrics import FACTOR_LABELS
from everlearn.evaluation.scores import mean_table
from everlearn.plotting import FigureStyle
from everlearn.plotting import axes as plot
from everlearn.plotting.axes import Figure, NothingToDraw, canvas, draw_series, label_lines, unit_y_axis
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

Groups = Sequence[Group]
Drawing = Callable[[Groups, FigureStyle], Figure]

MARKERS = (("o", "●"), ("s", "■"), ("^", "▲"), ("D", "◆"))
"""Markers of points, and their characters in labels."""
MAX_COLUMNS = 4
"""Score tables in a row."""
MAX_TEXT_CELLS = 24
"""Cells in a row of score tables up to which scores are written as text."""


def accuracy(groups: Groups, style: FigureStyle) -> Figure:
    """Average accuracy on all tasks seen so far, after each task."""
    series = [each.series(RunResults.accuracy, UNIT) for each in groups]
    if all(run.probe_results for each in groups for run in each.runs):
        raise NothingToDraw("none of these learners is a classifier; plot `probes` instead")
    figure, (axes,) = canvas(1)
    draw_series(axes, series, style)
    unit_y_axis(axes, "average accuracy")
    label_lines(axes, _names(groups), style)
    return figure


def forgetting(groups: Groups, style: FigureStyle) -> Figure:
    """Mean drop of earlier tasks from their best accuracy, after each task."""
    series = [each.series(RunResults.forgetting, SIGNED_UNIT) for each in groups]
    if not any(len(each.x) for each in series):
        raise NothingToDraw("forgetting needs at least 2 evaluated tasks")
    figure, (axes,) = canvas(1)
    draw_series(axes, series, style)
    axes.axhline(0, color=style.foreground, linewidth=0.6)
    axes.set_ylabel("forgetting")
    label_lines(axes, _names(groups), style)
    return figure


def scores(groups: Groups, style: FigureStyle) -> Figure:
    """Accuracy on every task after every task, as a heatmap for each learner."""
    groups = [each for each in groups if any(len(run.scores) for run in each.runs)]
    if not groups:
        raise NothingToDraw("no task has been evaluated yet")
    tables = [mean_table([run.scores for run in each.runs]) for each in groups]
    columns = math.ceil(len(groups) / math.ceil(len(groups) / MAX_COLUMNS))
    sizes = [max(run.scores.n_tasks for run in each.runs) for each in groups]
    figure, panels = canvas(
        len(groups), columns=columns, panel_height=min(2.2, 5.5 / columns), width=1.2 + 2.4 * columns
    )
    with_text = columns * max(sizes) <= MAX_TEXT_CELLS
    for axes, each, table, n in zip(panels, groups, tables, sizes, strict=True):
        heatmap = plot.draw_score_table(axes, table, n, style, with_text=with_text)
        axes.set_title(plot.multiline(each.short))
    panels[0].set_ylabel("after task")
    figure.colorbar(heatmap, ax=panels, label="accuracy", fraction=0.05).outline.set_visible(False)
    return figure


def cost(groups: Groups, style: FigureStyle) -> Figure:
    """Accuracy, and the cost of training: time, images, FLOPs, bytes."""
    n_lines = max(1 + each.short.count(",") for each in groups)
    height = 0.3 + len(groups) * max(0.26, 0.08 + 0.12 * n_lines)
    figure, panels = canvas(5, columns=5, panel_height=height, share_y=True)
    rows = [each.intervals for each in groups]

    def draw(n: int, title: str, form: formatting.Format, values: Iterable[formatting.Number]) -> None:
        bars = {number: [formatting.bar(value, form)] for number, value in enumerate(values)}
        plot.draw_bars(panels[n], title, bars, style, full=1.0 if title == "accuracy" else None)

    accuracies = (row["average_accuracy"] or row["object_final"] for row in rows)
    draw(0, "accuracy", formatting.format_score, accuracies)
    draw(1, "time", formatting.format_duration, (row["seconds"] for row in rows))
    draw(2, "images", formatting.format_amount, (row["images"] for row in rows))
    draw(3, "FLOPs", formatting.format_amount, (row["flops"] for row in rows))
    held = (_sum(row["weights_bytes"], row["memory_bytes"]) for row in rows)
    draw(4, "bytes", formatting.format_bytes, held)
    panels[0].set_yticks(range(len(groups)), [plot.multiline(each.short) for each in groups])
    panels[0].invert_yaxis()
    return figure


def accuracy_bytes(groups: Groups, style: FigureStyle) -> Figure:
    """Average accuracy at the end against bytes of weights and memory; a line joins settings of a learner."""
    return _against(groups, style, "bytes", "bytes of weights and memory")


def accuracy_flops(groups: Groups, style: FigureStyle) -> Figure:
    """Average accuracy at the end against FLOPs of training; a line joins settings of a learner."""
    return _against(groups, style, "flops", "FLOPs of training")


def _against(groups: Groups, style: FigureStyle, measure: str, label: str) -> Figure:
    """Accuracy with its margin over seeds against a cost, on a logarithmic axis."""
    lines: dict[str, list[tuple[float, Interval]]] = {}
    for each in groups:
        cost, score = each.intervals[measure], each.intervals["average_accuracy"]
        if cost and score and cost.mean > 0:
            name = str(each.runs[0].record.spec["learner"]["name"])
            lines.setdefault(name, []).append((cost.mean, score))
    if not lines:
        raise NothingToDraw(f"none of these runs has an accuracy and {label}")
    figure, (axes,) = canvas(1, panel_height=max(2.6, 1.1 * plot.LABEL_HEIGHT * len(lines)))
    axes.set_xscale("log")
    markers = [MARKERS[i // len(style.colors) % len(MARKERS)] for i in range(len(lines))]
    for number, points in enumerate(lines.values()):
        points.sort(key=lambda point: point[0])
        x, means = [point[0] for point in points], [score.mean for _, score in points]
        axes.plot(x, means, color=style.color(number), marker=markers[number][0])
        axes.vlines(x, *_error_bars([score for _, score in points]), color=style.color(number), linewidth=0.8)
    axes.grid(axis="y")
    axes.set_xlabel(label)
    unit_y_axis(axes, "average accuracy")
    are_marked = len(lines) > len(style.colors)  # colors repeat
    names = [
        f"{glyph} {name}" if are_marked else name for name, (_, glyph) in zip(lines, markers, strict=True)
    ]
    label_lines(axes, names, style)
    return figure


def within_tasks(groups: Groups, style: FigureStyle) -> Figure:
    """Accuracy within tasks: on the task being learned, and on earlier tasks."""
    if not any(run.has_within_task_scores for each in groups for run in each.runs):
        raise NothingToDraw(
            "no run was evaluated within tasks; train with --set evaluation.every_n_batches=10"
        )
    figure, panels = canvas(2, columns=1, panel_height=1.6, share_x=True)
    for axes, earlier in zip(panels, (False, True), strict=True):
        curve = partial(RunResults.within_tasks, earlier=earlier)
        series = [each.series(curve, UNIT) for each in groups]
        draw_series(axes, series, style, markers=False)
        unit_y_axis(axes, "accuracy")
        axes.set_title("on earlier tasks" if earlier else "on the task being learned")
        label_lines(axes, _names(groups), style)
    panels[0].set_xlabel("")
    return figure


def factors(groups: Groups, style: FigureStyle) -> Figure:
    """Mean errors of estimated scale, angle and position, after each task."""
    estimated = {factor for each in groups for run in each.runs for factor in run.factors}
    if not estimated:
        raise NothingToDraw("none of these learners estimates factors; use dcl")
    shown = [name for name in FACTOR_LABELS if name in estimated]
    figure, panels = canvas(len(shown), columns=len(shown), panel_height=2.0)
    for axes, name in zip(panels, shown, strict=True):
        curve = partial(RunResults.factor_error, factor=name)
        draw_series(axes, [each.series(curve, NOT_NEGATIVE) for each in groups], style)
        axes.set_title(FACTOR_LABELS[name])
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("mean error")
    label_lines(panels[-1], _names(groups), style)
    return figure


RUN_FIGURES: dict[str, Drawing] = {
    "accuracy": accuracy,
    "forgetting": forgetting,
    "scores": scores,
    "cost": cost,
    "accuracy-bytes": accuracy_bytes,
    "accuracy-flops": accuracy_flops,
    "within-tasks": within_tasks,
    "factors": factors,
}


def _names(groups: Groups) -> list[str]:
    return [each.short for each in groups]


def _sum(first: Interval | None, second: Interval | None) -> float | None:
    return None if first is None or second is None else first.mean + second.mean


def _error_bars(scores: Sequence[Interval]) -> tuple[list[float], list[float]]:
    """Ends of error bars within 0 and 1; of no length for a single seed."""
    margins = [each.margin if each.n > 1 else 0.0 for each in scores]
    pairs = [(each.mean, margin) for each, margin in zip(scores, margins, strict=True)]
    return [max(0.0, y - margin) for y, margin in pairs], [min(1.0, y + margin) for y, margin in pairs]
