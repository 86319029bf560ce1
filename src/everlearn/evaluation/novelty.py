"""How well novelty scores tell what is new from what is known.

Scores come in two lists, of images of known classes and of classes never met; higher means newer. "New" is
the positive answer. Thresholds are all values that occur; equal scores are always judged alike.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.rng import FloatArray


@dataclass(frozen=True, eq=False)
class Curve:
    """A trade-off, point by point from the strictest threshold to the laxest.

    Attributes:
        x: the horizontal axis.
        y: the vertical axis.
        thresholds: at each point everything with a score at or above this is called new.
        area: the area under the curve.
    """

    x: FloatArray
    y: FloatArray
    thresholds: FloatArray
    area: float


def roc(known: npt.ArrayLike, new: npt.ArrayLike) -> Curve:
    """The share of new images found (y) against the share of known ones called new (x).

    Its area is the chance that a new image scores above a known one, ties counting half.

    Example:
        >>> roc(known=[0.1, 0.4], new=[0.3, 0.9]).area
        0.75
    """
    thresholds, known_above, new_above = _shares_above(known, new)
    return Curve(known_above, new_above, thresholds, _area(known_above, new_above))


def precision_recall(known: npt.ArrayLike, new: npt.ArrayLike) -> Curve:
    """How much of what is called new is new (y) against how much of what is new is found (x).

    The area is the average precision: no line is drawn between points, as that would promise too much.

    Example:
        >>> round(precision_recall(known=[0.1, 0.4], new=[0.3, 0.9]).area, 3)
        0.833
    """
    thresholds, known_above, new_above = _shares_above(known, new)
    n_known, n_new = known_above * np.size(known), new_above * np.size(new)
    called = n_known + n_new
    precision = np.divide(n_new, called, out=np.ones_like(called), where=called > 0)
    return Curve(new_above, precision, thresholds, float((np.diff(new_above) * precision[1:]).sum()))


def acceptance(known: npt.ArrayLike, new: npt.ArrayLike) -> Curve:
    """The share of known images accepted (y) against the share of new ones rejected (x).

    This is what the authors of Infinite dSprites plot as "precision" and "recall": the ROC curve, flipped,
    with the same area; theirs is 0.92.

    Example:
        >>> acceptance(known=[0.1, 0.4], new=[0.3, 0.9]).y
        array([1. , 1. , 0.5, 0.5, 0. ])
    """
    thresholds, known_above, new_above = _shares_above(known, new)
    return Curve(new_above, 1 - known_above, thresholds, _area(new_above, 1 - known_above))


def threshold_for(known: npt.ArrayLike, accepted: float = 0.95) -> float:
    """The lowest threshold at which at least a share of known images stays below, so is accepted.

    Choose it on validation images, then judge with it: what scores above is new.

    Example:
        >>> threshold_for([0.1, 0.2, 0.3, 0.4], accepted=0.75)
        0.3
    """
    check_range("accepted", accepted, 0, 1)
    scores = np.sort(_scores("known", known))
    # The tiny step keeps 0.95 of 20 at 19, although 0.95 * 20 is a hair above it.
    return float(scores[max(0, math.ceil(accepted * len(scores) - 1e-9) - 1)])


def _shares_above(known: npt.ArrayLike, new: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    old, fresh = np.sort(_scores("known", known)), np.sort(_scores("new", new))
    thresholds = np.concatenate([[np.inf], np.unique(np.concatenate([old, fresh]))[::-1]])
    shares = [1 - np.searchsorted(part, thresholds, side="left") / len(part) for part in (old, fresh)]
    return thresholds, shares[0], shares[1]


def _area(x: FloatArray, y: FloatArray) -> float:
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def _scores(name: str, values: npt.ArrayLike) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or np.isnan(scores).any():
        raise BadInput(
            f"{name} has shape {scores.shape}; give a flat list of at least one score, none of them NaN"
        )
    return scores
