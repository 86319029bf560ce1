"""Confidence from scores, by logistic regression on images of known and of unknown objects."""

from dataclasses import dataclass

import numpy as np

from everlearn.rng import FloatArray

N_SCORES = 8
"""Length of `ranking.Scores`."""
PRIOR = np.array([-16.3, 3.0, 10.7, 2.5, 12.4, 2.6, 0.6, 1.8, 0.7])
"""Intercept and weights of a memory without calibration data.

The weights are those of similarity, margin, explained share, similarity after alignment and outline overlap,
and of three conditions that lower the scores of right and wrong answers: no plain background (so that there
is no outline), noise, and an occluder. Fitted to the answers on `benchmarks.photos.development` and
`development_plain`.
"""
FITTED_WITH = "efficientnet-lite0"
"""Features that the prior was fitted with."""
PRIOR_WEIGHT, OTHER_PRIOR_WEIGHT = 1000.0, 10.0
"""Number of images that the prior counts as, with these features and with others.

Disturbed copies are harder to recognise than most photos. With a smaller weight of the prior, more unknown
objects are accepted.
"""
KNOWN, PROBABLY = 0.85, 0.5
"""Confidence above which an answer is "known" and "probably" right."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidence that an answer is right.

    Example:
        >>> right, wrong = [0.95, 0.4, 0.7, 1, 0.97, 0.95, 0, 0], [0.5, 0.01, 0, 1, 0.4, 0.6, 0, 0]
        >>> scores = np.array([right, wrong])
        >>> Calibration(PRIOR).confidence(scores).round(2)
        array([1., 0.])
    """

    weights: FloatArray  # intercept and weights, as in PRIOR

    def confidence(self, scores: FloatArray) -> FloatArray:
        """(n, N_SCORES) -> (n,), from 0 to 1."""
        logits = _design_matrix(scores) @ self.weights
        return 1 / (1 + np.exp(-np.clip(logits, -50, 50)))

    @classmethod
    def fit(cls, known: FloatArray, unknown: FloatArray, features: str = FITTED_WITH) -> "Calibration":
        """Fit to the scores (n, N_SCORES) of right answers, and of answers about classes that were left out.

        Only objects that were cut out are used: random textures are harder than most real backgrounds.
        """
        known, unknown = (scores[scores[:, 3] == 1] for scores in (known, unknown))
        if not len(known) or not len(unknown):
            return cls(PRIOR)
        weight = PRIOR_WEIGHT if features == FITTED_WITH else OTHER_PRIOR_WEIGHT
        return cls(fitted_weights(known, unknown, weight))


def fitted_weights(known: FloatArray, unknown: FloatArray, weight: float) -> FloatArray:
    """Weights fitted to scores (n, N_SCORES); the prior counts as much as `weight` images."""
    rows = _design_matrix(np.concatenate([known, unknown]))
    targets = np.concatenate([np.ones(len(known)), np.zeros(len(unknown))])
    # Both kinds have the same total weight, so that errors of both kinds balance at 0.5.
    share = np.where(targets == 1, 0.5 / len(known), 0.5 / len(unknown)) * len(rows)
    return _fit_logistic(rows, targets, share, weight / np.square(PRIOR))


def _design_matrix(scores: FloatArray) -> FloatArray:
    """The inputs (n, 1 + N_SCORES) of the regression, with a constant, from scores (n, N_SCORES)."""
    ones = np.ones((len(scores), 1))
    return np.concatenate([ones, scores[:, :3], scores[:, 4:6], 1 - scores[:, 3:4], scores[:, 6:]], axis=1)


def _fit_logistic(
    rows: FloatArray, targets: FloatArray, share: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Minimize the weighted cross-entropy plus a quadratic penalty on the distance from the prior.

    Newton steps are halved until the loss decreases. Separable classes have a minimum only because of the
    prior.
    """

    def loss(weights: FloatArray) -> float:
        signs = np.where(targets == 1, -1.0, 1.0)
        return float(
            share @ np.logaddexp(0, signs * (rows @ weights)) + penalty @ np.square(weights - PRIOR) / 2
        )

    weights = PRIOR.copy()
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(rows @ weights, -50, 50)))
        gradient = rows.T @ (share * (p - targets)) + penalty * (weights - PRIOR)
        hessian = (rows * (share * p * (1 - p))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        before, size = loss(weights), 1.0
        while loss(weights - size * step) > before and size > 1e-6:
            size /= 2
        weights = weights - size * step
        if np.abs(size * step).max() < 1e-6:
            break
    weights[1:6] = np.maximum(weights[1:6], 0.0)  # a better score never lowers the confidence
    return weights
