"""Metrics within tasks, which show the stability gap that a score table misses.

`min_accuracy` and `worst_case_accuracy` take evaluations in order, as rows. The windowed metrics take a table
(n_evaluations, n_tasks) with NaN where a task was not measured; they depend on the interval between
evaluations and can only be compared at equal intervals.

Reference: De Lange, van de Ven and Tuytelaars 2023, "Continual evaluation for lifelong learning",
arXiv:2205.13452.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.scores import Row
from everlearn.rng import FloatArray


def evaluation_rows(accuracies: npt.ArrayLike, learning: npt.ArrayLike) -> list[Row]:
    """Evaluations (n_evaluations, n_tasks), NaN if not measured, as rows; `learning` is the task of each.

    Example:
        >>> rows = evaluation_rows([[0.9, np.nan], [0.2, 0.5]], learning=[0, 1])
        >>> [(row.after, row.tasks.tolist(), row.scores.tolist()) for row in rows]
        [(0, [0], [0.9]), (1, [0, 1], [0.2, 0.5])]
    """
    table, current = _table(accuracies), np.asarray(learning)
    if current.shape != (len(table),) or not np.issubdtype(current.dtype, np.integer):
        raise BadInput(
            f"learning has shape {current.shape}; give a task number for each of {len(table)} rows"
        )
    if len(current) and (current.min() < 0 or current.max() >= table.shape[1]):
        raise BadInput(f"learning has tasks {current.min()} to {current.max()}; there are {table.shape[1]}")
    if (np.diff(current) < 0).any():
        raise BadInput("learning returns to an earlier task; give evaluations in the order of training")
    measured = [np.flatnonzero(~np.isnan(line)) for line in table]
    return [
        Row(int(task), tasks, line[tasks]) for task, tasks, line in zip(current, measured, table, strict=True)
    ]


def min_accuracy(evaluations: Sequence[Row]) -> float:
    """Mean over earlier tasks of their lowest accuracy while later tasks were learned (min-ACC).

    Example:
        >>> min_accuracy(evaluation_rows([[0.9, 0.0], [0.2, 0.5], [0.8, 1.0]], learning=[0, 1, 1]))
        0.2
    """
    lowest = np.full(evaluations[-1].after if evaluations else 0, np.nan)
    for row in evaluations:
        earlier = row.tasks < row.after
        tasks = row.tasks[earlier]
        lowest[tasks] = np.fmin(lowest[tasks], row.scores[earlier])
    return _mean(lowest)


def worst_case_accuracy(evaluations: Sequence[Row]) -> float:
    """Current accuracy on the newest task and min-ACC of the earlier ones, weighted by tasks (WC-ACC).

    With k tasks: accuracy on the newest / k + (1 - 1 / k) min-ACC.

    Example:
        >>> worst_case_accuracy(evaluation_rows([[0.9, 0.0], [0.2, 0.5], [0.8, 1.0]], learning=[0, 1, 1]))
        0.6
    """
    if not evaluations:
        return float("nan")
    newest, tasks, scores = evaluations[-1]
    current = _mean(scores[tasks == newest])
    if newest == 0:
        return current
    return current / (newest + 1) + (1 - 1 / (newest + 1)) * min_accuracy(evaluations)


def windowed_forgetting(accuracies: npt.ArrayLike, window: int) -> float:
    """Mean over tasks of the largest drop within `window` consecutive evaluations (WF^w).

    Example:
        >>> round(windowed_forgetting([[0.9, 0.5], [0.2, 0.6], [0.8, 0.7]], window=2), 3)
        0.35
    """
    return _mean(_largest_rises(-_table(accuracies), window))


def windowed_plasticity(accuracies: npt.ArrayLike, window: int) -> float:
    """Mean over tasks of the largest rise within `window` consecutive evaluations (WP^w).

    Example:
        >>> round(windowed_plasticity([[0.9, 0.5], [0.2, 0.6], [0.8, 0.7]], window=2), 3)
        0.35
    """
    return _mean(_largest_rises(_table(accuracies), window))


def learning_curve_area(curves: npt.ArrayLike, n_batches: int = 10) -> float:
    """Mean accuracy before and after each of the first batches of a task (LCA).

    Args:
        curves: (n_tasks, at least n_batches + 1) accuracy on each task before its first batch, after the
            first, after the second, ...
        n_batches: number of batches, called beta in the paper.

    Example:
        >>> learning_curve_area([[0.0, 0.5, 1.0], [0.5, 1.0, 1.0]], n_batches=1)
        0.5

    Reference: Chaudhry et al. 2019, "Efficient lifelong learning with A-GEM", arXiv:1812.00420.
    """
    table = _table(curves)
    if not 0 <= n_batches < table.shape[1]:
        raise BadInput(f"n_batches is {n_batches}; these curves allow 0 to {table.shape[1] - 1}")
    return _mean(table[:, : n_batches + 1].ravel())


def _largest_rises(table: FloatArray, window: int) -> FloatArray:
    """Largest rise within a window for each task with at least two measurements; 0 if it never rises."""
    if window < 2:
        raise BadInput(f"window is {window}; a change needs at least 2 evaluations")
    rises = []
    for values in (column[~np.isnan(column)] for column in table.T):
        lags = range(1, min(window, len(values)))
        if lags:
            rises.append(max(0.0, *(float((values[lag:] - values[:-lag]).max()) for lag in lags)))
    return np.array(rises)


def _table(accuracies: npt.ArrayLike) -> FloatArray:
    table = np.asarray(accuracies, dtype=np.float64)
    if table.ndim != 2:
        raise BadInput(f"accuracies have shape {table.shape}; give a table with two dimensions")
    return table


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
