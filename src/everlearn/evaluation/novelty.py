"""Threshold curves of novelty scores: ROC, precision-recall, and acceptance against rejection.

Scores come as two lists, of images of known classes and of new classes; a higher score means more novel.
"New" is the positive class. The thresholds of a curve are all scores that occur.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.rng import FloatArray


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Two rates x and y over all thresholds, from the strictest to the laxest."""

    x: FloatArray
    y: FloatArray
    thresholds: FloatArray  # images with at least this score are classified as new
    area: float  # under the curve


def roc(known: npt.ArrayLike, new: npt.ArrayLike) -> ThresholdCurve:
    """True positive rate (y) against false positive rate (x).

    The area is the probability that a new image scores above a known one, ties counting half.

    Example:
        >>> roc(known=[0.1, 0.4], new=[0.3, 0.9]).area
        0.75
    """
    thresholds, known_above, new_above = _rates(known, new)
    return ThresholdCurve(known_above, new_above, thresholds, _area(known_above, new_above))


def precision_recall(known: npt.ArrayLike, new: npt.ArrayLike) -> ThresholdCurve:
    """Precision (y) against recall (x) of new images.

    The area is the average precision: a sum over steps, without interpolation between points.

    Example:
        >>> round(precision_recall(known=[0.1, 0.4], new=[0.3, 0.9]).area, 3)
        0.833
    """
    thresholds, known_above, new_above = _rates(known, new)
    n_known, n_new = known_above * np.size(known), new_above * np.size(new)
    n_positive = n_known + n_new
    precision = np.divide(n_new, n_positive, out=np.ones_like(n_positive), where=n_positive > 0)
    area = float((np.diff(new_above) * precision[1:]).sum())
    return ThresholdCurve(new_above, precision, thresholds, area)


def acceptance(known: npt.ArrayLike, new: npt.ArrayLike) -> ThresholdCurve:
    """Rate of accepted known images (y) against rate of rejected new images (x).

    This is the curve that Dziadzio et al. 2023 plot as "precision" and "recall": the mirrored ROC curve, with
    the same area. They report 0.92.

    Example:
        >>> acceptance(known=[0.1, 0.4], new=[0.3, 0.9]).y
        array([1. , 1. , 0.5, 0.5, 0. ])
    """
    thresholds, known_above, new_above = _rates(known, new)
    return ThresholdCurve(new_above, 1 - known_above, thresholds, _area(new_above, 1 - known_above))


def threshold_for(known: npt.ArrayLike, accepted: float = 0.95) -> float:
    """The lowest threshold that accepts at least this share of known images.

    Choose it on validation images; images with higher scores are new.

    Example:
        >>> threshold_for([0.1, 0.2, 0.3, 0.4], accepted=0.75)
        0.3
    """
    check_range("accepted", accepted, 0, 1)
    scores = np.sort(_scores("known", known))
    # The tolerance keeps 0.95 of 20 at 19, although 0.95 * 20 rounds to slightly more.
    return float(scores[max(0, math.ceil(accepted * len(scores) - 1e-9) - 1)])


def _rates(known: npt.ArrayLike, new: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All thresholds, and the shares of known and of new images at or above each."""
    sorted_known, sorted_new = np.sort(_scores("known", known)), np.sort(_scores("new", new))
    thresholds = np.concatenate([[np.inf], np.unique(np.concatenate([sorted_known, sorted_new]))[::-1]])
    known_above, new_above = (
        1 - np.searchsorted(scores, thresholds, side="left") / len(scores)
        for scores in (sorted_known, sorted_new)
    )
    return thresholds, known_above, new_above


def _area(x: FloatArray, y: FloatArray) -> float:
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def _scores(name: str, values: npt.ArrayLike) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or np.isnan(scores).any():
        raise BadInput(
            f"{name} has shape {scores.shape}; give a flat list of at least one score, without NaN"
        )
    return scores
