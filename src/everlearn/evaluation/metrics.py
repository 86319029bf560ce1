"""Continual-learning metrics of a score table, costs of a run, and errors of estimated factors."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.scores import Row, ScoreTable, as_table, mean_without_nan
from everlearn.factors import Factors
from everlearn.registry import Registry
from everlearn.rng import FloatArray, IntArray

FACTOR_LABELS = {"scale": "scale (relative)", "angle": "angle (radians)", "position": "position (half image)"}
"""Factor errors in figures, with their units."""


def average_accuracy(scores: npt.ArrayLike, after: int | None = None) -> float:
    """Mean accuracy on all tasks seen so far, after task `after` (default: the last evaluation).

    Example:
        >>> round(average_accuracy([[1.0, 0.2], [0.6, 0.8]]), 3)
        0.7
        >>> round(average_accuracy([[1.0, 0.2], [0.6, 0.8]], after=0), 3)
        1.0
    """
    curve = accuracy_curve(scores)
    if after is not None and not 0 <= after < len(curve):
        raise BadInput(f"there is no task {after} in the table; give 0 to {len(curve) - 1}")
    if after is not None:
        return float(curve[after])
    measured = curve[~np.isnan(curve)]
    return float(measured[-1]) if len(measured) else float("nan")


def accuracy_curve(scores: npt.ArrayLike) -> FloatArray:
    """Mean accuracy on all tasks seen so far, after each task.

    Example:
        >>> accuracy_curve([[1.0, 0.2], [0.6, 0.8]])
        array([1. , 0.7])
    """
    table = as_table(scores)
    curve = np.full(table.n_tasks, np.nan)
    for row in table.rows():
        curve[row.after] = _mean(row.scores[row.tasks <= row.after])
    return curve


def average_incremental_accuracy(scores: npt.ArrayLike) -> float:
    """Mean of the accuracy curve (Rebuffi et al. 2017).

    Example:
        >>> round(average_incremental_accuracy([[1.0, 0.2], [0.6, 0.8]]), 3)
        0.85
    """
    return _mean(accuracy_curve(scores))


def forgetting(scores: npt.ArrayLike) -> float:
    """Mean drop of earlier tasks from their best accuracy (Chaudhry et al. 2018).

    Mean over j < T of max over i < T of scores[i, j] - scores[T, j]; negative if tasks improved.

    Example:
        >>> round(forgetting([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]), 3)
        0.35
    """
    return float(forgetting_curve(scores)[_rows(scores)[-1].after])


def forgetting_curve(scores: npt.ArrayLike) -> FloatArray:
    """`forgetting` after each task, from the evaluations up to it.

    Example:
        >>> forgetting_curve([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]).round(3)
        array([  nan, -0.1 ,  0.35])
    """
    rows = _rows(scores)
    best, curve = np.full((2, max(1, as_table(scores).n_tasks)), np.nan)
    for row in rows:
        tasks, values = _before(row.after, row)
        curve[row.after] = _mean(best[tasks] - values)
        best[row.tasks] = np.fmax(best[row.tasks], row.scores)
    return curve


def avalanche_forgetting(scores: npt.ArrayLike) -> float:
    """Mean drop of earlier tasks from their accuracy right after training, as in Avalanche.

    Mean over j < T of scores[j, j] - scores[T, j]. If a task was not evaluated right after it was learned,
    its next evaluation counts.

    Example:
        >>> round(avalanche_forgetting([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]), 3)
        0.3
    """
    *earlier, last = _rows(scores)
    learned = np.full(last.after, np.nan)
    for row in reversed(earlier):
        tasks, values = _before(row.after + 1, row)
        learned[tasks] = values
    tasks, final = _before(last.after, last)
    return _mean(learned[tasks] - final)


def backward_transfer(scores: npt.ArrayLike) -> float:
    """Mean change of earlier tasks since they were learned (Lopez-Paz and Ranzato 2017).

    Mean over j < T of scores[T, j] - scores[j, j], the negative of `avalanche_forgetting`.

    Example:
        >>> round(backward_transfer([[0.9, 0.0, 0.0], [1.0, 0.8, 0.0], [0.5, 0.6, 1.0]]), 3)
        -0.3
    """
    return -avalanche_forgetting(scores)


def forward_transfer(scores: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """Mean accuracy on tasks before they are learned, above a baseline (Lopez-Paz and Ranzato 2017).

    Mean over j > 0 of scores[j - 1, j] - baseline[j]. The baseline is the accuracy without earlier training:
    of an untrained network, or of permuted predictions, which runs record; NaN if unknown. Leave out tasks
    with new labels only, which cannot be predicted.

    Example:
        >>> round(forward_transfer([[0.9, 0.3, 0.1], [1.0, 0.8, 0.2], [0.5, 0.6, 1.0]], [0.1, 0.1, 0.1]), 3)
        0.15
    """
    table = as_table(scores)
    return _mean(_shifted(table, 1) - _vector("baseline", baseline, table.n_tasks))


def intransigence(scores: npt.ArrayLike, joint: npt.ArrayLike) -> float:
    """Mean gap to joint training on tasks that were just learned (Chaudhry et al. 2018).

    Mean over j of joint[j] - scores[j, j]; joint[j] is the accuracy on task j of a reference that is trained
    jointly on all tasks up to it.

    Example:
        >>> round(intransigence([[0.9, 0.0], [1.0, 0.5]], joint=[1.0, 1.0]), 3)
        0.3
    """
    table = as_table(scores)
    return _mean(_vector("joint", joint, table.n_tasks) - _shifted(table, 0))


def _rows(scores: npt.ArrayLike) -> list[Row]:
    """All rows; a single empty one for an empty table."""
    return list(as_table(scores).rows()) or [Row(0, np.zeros(0, np.int64), np.zeros(0))]


def _before(task: int, row: Row) -> tuple[IntArray, FloatArray]:
    """Tasks of a row that come before one, and their scores."""
    is_before = row.tasks < task
    return row.tasks[is_before], row.scores[is_before]


def _shifted(table: ScoreTable, ahead: int) -> FloatArray:
    """Score of each task when it was `ahead` tasks ahead of the last learned one; NaN if unknown."""
    shifted = np.full(table.n_tasks, np.nan)
    for row in table.rows():
        is_wanted = row.tasks == row.after + ahead
        shifted[row.tasks[is_wanted]] = row.scores[is_wanted]
    return shifted


def _vector(name: str, values: npt.ArrayLike, n_tasks: int) -> FloatArray:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (n_tasks,):
        raise BadInput(f"{name} has shape {vector.shape}; give one accuracy for each of the {n_tasks} tasks")
    return vector


def _mean(values: FloatArray) -> float:
    return mean_without_nan(values.tolist())


METRICS = Registry(
    kind="metric",
    group="everlearn.metrics",
    builtin={
        metric.__name__: f"{__name__}:{metric.__name__}"
        for metric in (
            average_accuracy,
            average_incremental_accuracy,
            forgetting,
            avalanche_forgetting,
            backward_transfer,
        )
    },
    expected="a function of a score table that gives a number",
    accepts=callable,
)
"""Metrics by name: functions of a score table, also of installed packages, by import string or by file."""


@dataclass(frozen=True)
class Cost:
    """Compute and memory of a run.

    Example:
        >>> cost = Cost(seconds=2.0, images=500)
        >>> cost.images / cost.seconds, cost.memory_bytes
        (250.0, 0)
    """

    seconds: float = 0.0  # wall-clock time
    images: float = 0  # training images, counted once per use
    flops: float = 0  # estimated floating-point operations
    weight_bytes: int = 0  # bytes of the parameters
    memory_bytes: int = 0  # bytes of stored data


def factor_errors(estimated: Factors, true: Factors) -> dict[str, float]:
    """Mean error of each factor.

    Relative error of scale, circular error of angles in radians, distance in x, y and `position` (both) in
    units of half the image size.

    Example:
        >>> true = Factors(scale=[0.5, 1.0], angle=[0.1, 6.2])
        >>> errors = factor_errors(Factors(scale=[0.6, 1.0], angle=[6.2, 0.1], x=[0.8, 0.5]), true)
        >>> {name: round(error, 3) for name, error in errors.items()}
        {'scale': 0.1, 'angle': 0.183, 'x': 0.15, 'y': 0.0, 'position': 0.15}
    """
    return {name: float(error.mean()) for name, error in factor_errors_per_image(estimated, true).items()}


def factor_errors_per_image(estimated: Factors, true: Factors) -> dict[str, FloatArray]:
    """Errors as in `factor_errors`, per image.

    Example:
        >>> errors = factor_errors_per_image(Factors(scale=[0.6, 1.0]), Factors(scale=[0.5, 1.0]))
        >>> errors["scale"].round(3), errors["position"]
        (array([0.2, 0. ]), array([0., 0.]))
    """
    if len(estimated) != len(true) or not len(true):
        raise BadInput(f"{len(estimated)} estimates for {len(true)} images; give one each, at least one")
    dx, dy = estimated.x - true.x, estimated.y - true.y
    return {
        "scale": np.abs(estimated.scale / true.scale - 1),
        "angle": angle_error(estimated.angle, true.angle),
        "x": np.abs(dx),
        "y": np.abs(dy),
        "position": np.hypot(dx, dy),
    }


def angle_error(estimated: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """Circular distance of angles, from 0 to pi.

    Example:
        >>> angle_error([0.1, np.pi], [2 * np.pi - 0.1, -np.pi]).round(3)
        array([0.2, 0. ])
    """
    difference = np.asarray(estimated, np.float64) - np.asarray(true, np.float64)
    return np.asarray(np.abs((difference + np.pi) % (2 * np.pi) - np.pi))
