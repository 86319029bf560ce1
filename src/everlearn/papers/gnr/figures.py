"""Metrics and figures of "Generative Negative Replay for Continual Learning".

No learner can predict a class that it has not seen yet, so all images of such classes count as errors.
Accuracy on the full test set therefore follows from the counts on the growing one, as long as every test
image of the classes seen is evaluated; the settings in `real` and `scales` ensure that.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial

from everlearn.evaluation.intervals import Curve
from everlearn.evaluation.scores import mean_without_nan
from everlearn.papers.claims import RunMetric, above_next
from everlearn.papers.experiment import Claim
from everlearn.plotting.axes import Figure, canvas, draw_series, label_lines, unit_y_axis
from everlearn.plotting.style import FigureStyle
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

PANEL_HEIGHT = 3.4
"""Inches; panels are high, since lines are close to each other."""
REPLAY_QUALITY, PROTOCOL = "replay_quality", "replay-quality"


def growing(run: RunResults) -> Curve:
    """Accuracy on all test images of the classes seen so far."""
    return {n: right / total for n, right, total in _counts(run)}


def full(run: RunResults) -> Curve:
    """Accuracy on all test images of the classes of the whole run."""
    counts = list(_counts(run))
    n_images = counts[-1][2] if counts else 1
    return {n: right / n_images for n, right, _ in counts}


def _counts(run: RunResults) -> Iterator[tuple[int, int, int]]:
    """Number of tasks learned, correct predictions and images at each evaluation after a task."""
    for scored in run.record.evaluations():
        if scored["n_batches"] is None:
            yield scored["task"] + 1, sum(scored["n_correct"]), sum(scored["n_images"])


def quality(run: RunResults) -> Curve:
    """Share of the activations replayed in each task that are nearest to the real mean of their class."""
    losses = {ended["task"] + 1: ended["losses"] for ended in run.ended}
    return {task: each[REPLAY_QUALITY] for task, each in losses.items() if REPLAY_QUALITY in each}


def _at_the_end(score: str, run: RunResults) -> float:
    return float(run.protocol_results.get(PROTOCOL, {}).get(score, math.nan))


FINAL = RunMetric("final accuracy", lambda run: list(full(run).values())[-1])
AVERAGE = RunMetric("average accuracy", lambda run: mean_without_nan(full(run).values()))
QUALITY = RunMetric(
    "replayed activations nearest to the mean of their class",
    lambda run: mean_without_nan(quality(run).values()),
)
BY_MEAN = RunMetric("nearest mean", partial(_at_the_end, "nearest_mean"))
BY_HEAD = RunMetric("head", partial(_at_the_end, "head"))
COLUMNS = (
    FINAL.column("final", "accuracy on the full test set after the last task"),
    AVERAGE.column("average", "accuracy on the full test set, mean over all evaluations"),
)
QUALITY_COLUMNS = (
    *COLUMNS,
    QUALITY.column(
        "quality", "replayed activations nearest to the real mean of their class, mean over tasks"
    ),
    BY_MEAN.column("by mean", "the same at the end, for new samples and the means of test images"),
    BY_HEAD.column("by head", "real accuracy of a linear classifier trained on replayed activations only"),
)


def of(prefix: str, *variants: str) -> tuple[str, ...]:
    """Names of the series of some variants, such as "nc NR-GD"."""
    return tuple(f"{prefix} {variant}" for variant in variants)


def better(
    text: str, series: Sequence[str], by: float = 0.0, metric: RunMetric = FINAL, *, is_ours: bool = False
) -> Claim:
    """Each series is better than the next, with a paired interval above zero."""
    return Claim(text, tuple(series), above_next(metric, by=by), is_ours)


def accuracy_on_both_sets(groups: Sequence[Group], style: FigureStyle) -> Figure:
    """Accuracy after each task on the full test set and on that of the classes seen."""
    figure, panels = canvas(2, panel_height=PANEL_HEIGHT)
    for axes, curve, title in zip(panels, (full, growing), ("full", "growing"), strict=True):
        draw_series(axes, [group.series(curve) for group in groups], style, bands=False)
        axes.set_title(f"{title} test set")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("accuracy")
        label_lines(axes, [_short(group) for group in groups], style)
    return figure


def quality_over_tasks(groups: Sequence[Group], style: FigureStyle) -> Figure:
    """Quality of the activations that each task replays, one panel per scenario."""
    figure, panels = canvas(2)
    for axes, scenario in zip(panels, ("nc", "nic"), strict=True):
        shown = [
            group
            for group in groups
            if group.name.startswith(f"{scenario} ") and any(quality(run) for run in group.runs)
        ]
        draw_series(axes, [group.series(quality) for group in shown], style, bands=False)
        axes.set_title(scenario.upper())
        axes.set_xlabel("task")
        unit_y_axis(axes, "nearest to the mean of their class")
        label_lines(axes, [_short(group) for group in shown], style)
    return figure


def _short(group: Group) -> str:
    """The variant of a series, without layer and scenario."""
    return group.name.split("nic " if "nic " in group.name else "nc ")[-1]
