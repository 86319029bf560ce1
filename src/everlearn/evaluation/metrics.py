"""What a score table says about remembering, forgetting and transfer.

Every function takes a table, scores[i, j] = accuracy on task j after task i, and gives a number; NaN when the
table does not hold what the number is about. Cells that were not measured are left out, never guessed.
"""

import math

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray, IntArray
from everlearn.errors import BadInput
from everlearn.evaluation.scores import measured_rows


def average_accuracy(scores: npt.ArrayLike, after: int | None = None) -> float:
    """Mean accuracy on all tasks seen so far, after task `after` (if not said, the last one measured).

    Example:
        >>> round(average_accuracy([[1.0, 0.2], [0.6, 0.8]]), 3)
        0.7
        >>> round(average_accuracy([[1.0, 0.2], [0.6, 0.8]], after=0), 3)
        1.0
    """
    curve = accuracy_curve(scores)
    if after is not None and not 0 <= after < len(curve):
        raise BadInput(f"there is no task {after} in the table; its tasks run from 0 to {len(curve) - 1}")
    measured = curve[~np.isnan(curve)]
    if after is None:
        return float(measured[-1]) if len(measured) else float("nan")
    return float(curve[after])


def accuracy_curve(scores: npt.ArrayLike) -> FloatArray:
    """Mean accuracy on all tasks seen so far, after each task.

    Example:
        >>> accuracy_curve([[1.0, 0.2], [0.6, 0.8]])
        array([1. , 0.7])
    """
    after, table = measured_rows(scores)
    curve = np.full(table.shape[1], np.nan)
    curve[after] = [_mean(row[: k + 1]) for k, row in zip(after, table, strict=True)]
    return curve


def final_accuracy(scores: npt.ArrayLike) -> float:
    """Mean accuracy on all tasks at the end: the number most tables print.

    Example:
        >>> round(final_accuracy([[1.0, 0.2], [0.6, 0.8]]), 3)
        0.7
    """
    return average_accuracy(scores)


def average_incremental_accuracy(scores: npt.ArrayLike) -> float:
    """The mean of the accuracy curve: how good the learner was along the way (Rebuffi et al. 2017).

    Example:
        >>> round(average_incremental_accuracy([[1.0, 0.2], [0.6, 0.8]]), 3)
        0.85
    """
    return _mean(accuracy_curve(scores))


def forgetting(scores: npt.ArrayLike) -> float:
    """How far each earlier task has fallen from its best, on average (Chaudhry et al. 2018).

    Mean over j < T of max over i < T of scores[i, j] - scores[T, j]; negative if tasks still got better.

    Example:
        >>> round(forgetting([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]), 3)
        0.35
    """
    _, earlier, final = _before_and_after(scores)
    best = np.where(np.isnan(earlier), -np.inf, earlier).max(axis=0, initial=-np.inf)
    return _mean(np.where(np.isfinite(best), best, np.nan) - final)


def avalanche_forgetting(scores: npt.ArrayLike) -> float:
    """How far each earlier task has fallen from where it was when learned, as Avalanche counts.

    Mean over j < T of scores[j, j] - scores[T, j]. If a task was not measured right after it was learned,
    its first measurement after that counts.

    Example:
        >>> round(avalanche_forgetting([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]), 3)
        0.3
    """
    after, earlier, final = _before_and_after(scores)
    tasks = np.arange(len(final))
    learned = (tasks <= after[:, None]) & ~np.isnan(earlier)
    first = np.where(learned, np.arange(len(after))[:, None], len(after)).min(axis=0, initial=len(after))
    return _mean(np.vstack([earlier, np.full(len(final), np.nan)])[first, tasks] - final)


def backward_transfer(scores: npt.ArrayLike) -> float:
    """What learning later tasks did to earlier ones, on average (Lopez-Paz and Ranzato 2017).

    Mean over j < T of scores[T, j] - scores[j, j]: the opposite of `avalanche_forgetting`.

    Example:
        >>> round(backward_transfer([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]), 3)
        -0.3
    """
    return -avalanche_forgetting(scores)


def forward_transfer(scores: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """How much better than an untaught learner a task goes before it is learned, on average.

    Mean over j > 0 of scores[j - 1, j] - baseline[j] (Lopez-Paz and Ranzato 2017).

    Args:
        scores: the table; it must have been measured one task ahead.
        baseline: accuracy on each task of a learner that has learned nothing.

    Example:
        >>> round(forward_transfer([[0.9, 0.3, 0.1], [1.0, 0.8, 0.2], [0.5, 0.6, 1.0]], [0.1, 0.1, 0.1]), 3)
        0.15
    """
    after, table = measured_rows(scores)
    untaught = _vector("baseline", baseline, table.shape[1])
    ahead = np.flatnonzero(after + 1 < table.shape[1])
    return _mean(table[ahead, after[ahead] + 1] - untaught[after[ahead] + 1])


def intransigence(scores: npt.ArrayLike, joint: npt.ArrayLike) -> float:
    """How much worse than a learner of all data each task goes when just learned (Chaudhry et al. 2018).

    Mean over j of joint[j] - scores[j, j].

    Args:
        scores: the table.
        joint: accuracy on each task of a reference that learned all tasks up to it together.

    Example:
        >>> round(intransigence([[0.9, 0.0], [1.0, 0.5]], joint=[1.0, 1.0]), 3)
        0.3
    """
    after, table = measured_rows(scores)
    reference = _vector("joint", joint, table.shape[1])
    return _mean(reference[after] - table[np.arange(len(after)), after])


def _before_and_after(scores: npt.ArrayLike) -> tuple[IntArray, FloatArray, FloatArray]:
    """On all tasks before the last: after which others they were measured, these rows, and the last row."""
    after, table = measured_rows(scores)
    if not len(after):
        return after, np.zeros((0, 0)), np.zeros(0)
    return after[:-1], table[:-1, : after[-1]], table[-1, : after[-1]]


def _vector(name: str, values: npt.ArrayLike, n_tasks: int) -> FloatArray:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (n_tasks,):
        raise BadInput(f"{name} has shape {vector.shape}; give one accuracy for each of the {n_tasks} tasks")
    return vector


def _mean(values: FloatArray) -> float:
    """The mean of what is there; summed exactly, so that the order of tasks cannot show."""
    there = values[~np.isnan(values)].tolist()
    return math.fsum(there) / len(there) if there else float("nan")
