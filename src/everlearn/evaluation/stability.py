"""What happens inside tasks: the dips that a table of finished tasks cannot show.

All functions take `accuracies`, (n_evaluations, n_tasks), measured every so many batches on a fixed set of
images per task, with NaN where a task was not measured. The windowed numbers depend on how often that was:
never compare them across different intervals.

Reference: De Lange, van de Ven and Tuytelaars 2023, "Continual evaluation for lifelong learning",
arXiv:2205.13452.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.scores import Row
from everlearn.rng import FloatArray


def min_accuracy(accuracies: npt.ArrayLike, learning: npt.ArrayLike) -> float:
    """The lowest that earlier tasks ever fell to while later ones were learned, on average (min-ACC).

    Args:
        accuracies: (n_evaluations, n_tasks).
        learning: (n_evaluations,) the task being learned at each evaluation.

    Example:
        >>> min_accuracy([[0.9, 0.0], [0.2, 0.5], [0.8, 1.0]], learning=[0, 1, 1])
        0.2
    """
    return min_accuracy_of(_rows(accuracies, learning))


def min_accuracy_of(evaluations: Sequence[Row]) -> float:
    """`min_accuracy` of a long run, given evaluation by evaluation as they touch few of its tasks."""
    lowest = np.full(evaluations[-1].after if evaluations else 0, np.nan)
    for row in evaluations:
        earlier = row.tasks < row.after
        tasks = row.tasks[earlier]
        lowest[tasks] = np.fmin(lowest[tasks], row.scores[earlier])
    return _mean(lowest)


def worst_case_accuracy(accuracies: npt.ArrayLike, learning: npt.ArrayLike) -> float:
    """What can be relied on: the newest task as it is, the earlier ones at their lowest (WC-ACC).

    With k tasks met: accuracy on the newest / k + (1 - 1 / k) min-ACC.

    Example:
        >>> worst_case_accuracy([[0.9, 0.0], [0.2, 0.5], [0.8, 1.0]], learning=[0, 1, 1])
        0.6
    """
    return worst_case_accuracy_of(_rows(accuracies, learning))


def worst_case_accuracy_of(evaluations: Sequence[Row]) -> float:
    """`worst_case_accuracy` of a long run, given evaluation by evaluation as they touch few of its tasks."""
    if not evaluations:
        return float("nan")
    newest, tasks, scores = evaluations[-1]
    now = _mean(scores[tasks == newest])
    if newest == 0:
        return now
    return now / (newest + 1) + (1 - 1 / (newest + 1)) * min_accuracy_of(evaluations)


def windowed_forgetting(accuracies: npt.ArrayLike, window: int) -> float:
    """The deepest fall of a task within `window` evaluations in a row, averaged over tasks (WF^w).

    Example:
        >>> round(windowed_forgetting([[0.9, 0.5], [0.2, 0.6], [0.8, 0.7]], window=2), 3)
        0.35
    """
    return _mean(_largest_rise(-_table(accuracies), window))


def windowed_plasticity(accuracies: npt.ArrayLike, window: int) -> float:
    """The steepest rise of a task within `window` evaluations in a row, averaged over tasks (WP^w).

    Example:
        >>> round(windowed_plasticity([[0.9, 0.5], [0.2, 0.6], [0.8, 0.7]], window=2), 3)
        0.35
    """
    return _mean(_largest_rise(_table(accuracies), window))


def learning_curve_area(curves: npt.ArrayLike, n_batches: int = 10) -> float:
    """How fast tasks are learned: mean accuracy before and after each of the first batches (LCA).

    With Z_b the mean over tasks of the accuracy on each when b of its batches were learned, the authors
    count Z_0 to Z_n, so n_batches + 1 points: what is known before the first batch is part of it.

    Args:
        curves: (n_tasks, at least n_batches + 1) accuracy on each task before its first batch, after the
            first, after the second, ...
        n_batches: how many batches count, called beta in the paper.

    Example:
        >>> learning_curve_area([[0.0, 0.5, 1.0], [0.5, 1.0, 1.0]], n_batches=1)
        0.5

    Reference: Chaudhry et al. 2019, "Efficient lifelong learning with A-GEM", arXiv:1812.00420.
    """
    table = _table(curves)
    if not 0 <= n_batches < table.shape[1]:
        have = table.shape[1] - 1
        raise BadInput(
            f"n_batches is {n_batches}; the curves allow 0 to {have}, as they start before batch 1"
        )
    return _mean(table[:, : n_batches + 1].ravel())


def _largest_rise(table: FloatArray, window: int) -> FloatArray:
    """For each task with two measurements or more, the largest rise inside any window; 0 if none rose."""
    if window < 2:
        raise BadInput(f"window is {window}; a change needs at least 2 evaluations")
    columns = [column[~np.isnan(column)] for column in table.T]
    return np.array([_rise(column, window) for column in columns if len(column) > 1])


def _rise(values: FloatArray, window: int) -> float:
    lags = range(1, min(window, len(values)))
    return max(0.0, *(float((values[lag:] - values[:-lag]).max()) for lag in lags))


def _rows(accuracies: npt.ArrayLike, learning: npt.ArrayLike) -> list[Row]:
    """The evaluations one by one, without what was not measured."""
    table, current = _table(accuracies), np.asarray(learning)
    if current.shape != (len(table),) or not np.issubdtype(current.dtype, np.integer):
        raise BadInput(
            f"learning has shape {current.shape}; give one task number for each of {len(table)} rows"
        )
    if len(current) and (current.min() < 0 or current.max() >= table.shape[1]):
        raise BadInput(f"learning names tasks {current.min()} to {current.max()}; there are {table.shape[1]}")
    if (np.diff(current) < 0).any():
        raise BadInput("learning goes back to an earlier task; give evaluations in the order they were made")
    there = [np.flatnonzero(~np.isnan(line)) for line in table]
    return [
        Row(int(task), tasks, line[tasks]) for task, tasks, line in zip(current, there, table, strict=True)
    ]


def _table(accuracies: npt.ArrayLike) -> FloatArray:
    table = np.asarray(accuracies, dtype=np.float64)
    if table.ndim != 2:
        raise BadInput(f"accuracies have shape {table.shape}; they must be a table of two dimensions")
    return table


def _mean(values: FloatArray) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")
