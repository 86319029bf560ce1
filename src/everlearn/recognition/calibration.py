"""From scores to confidence: a logistic regression on images of known and of unknown things."""

from dataclasses import dataclass

import numpy as np

from everlearn.rng import FloatArray

N_SCORES = 4
"""Similarity, margin to the runner-up, the share that alignment explains, and 0 if it was in a scene."""
PRIOR = np.array([-9.0, 10.0, 8.0, 4.0])
"""Intercept and weights before a memory has images of its own to calibrate with.

Set by hand after scores of photos and emoji had been seen; not fitted.
"""
PRIOR_WEIGHT = 10.0
"""Images, about, that the prior is worth."""
SCENE_OFFSET = -4.0
"""Added to the intercept in a scene: many windows are compared, and chance gives higher similarities.

It is not fitted, since random textures are harder than most real backgrounds.
"""
KNOWN, PROBABLY = 0.85, 0.5
"""Confidence above which an answer is "known" and "probably" right."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidence that an answer is right.

    Example:
        >>> Calibration(PRIOR).confidence(np.array([[0.95, 0.4, 0.7, 1.0], [0.5, 0.01, 0.0, 1.0]])).round(2)
        array([1.  , 0.02])
    """

    weights: FloatArray  # intercept, and a weight for each score

    def confidence(self, scores: FloatArray) -> FloatArray:
        """(n, N_SCORES) -> (n,), from 0 to 1."""
        offset = SCENE_OFFSET * (1 - scores[:, 3])
        logits = self.weights[0] + scores[:, :3] @ self.weights[1:] + offset
        return 1 / (1 + np.exp(-np.clip(logits, -50, 50)))

    @classmethod
    def fit(cls, known: FloatArray, unknown: FloatArray) -> "Calibration":
        """Fit to the scores (n, N_SCORES) of right answers, and of answers about classes that were left out.

        Only objects that were not searched in a scene count.
        """
        known, unknown = (scores[scores[:, 3] == 1] for scores in (known, unknown))
        if not len(known) or not len(unknown):
            return cls(PRIOR)
        rows = np.concatenate([known, unknown])[:, :3]
        rows = np.concatenate([np.ones((len(rows), 1)), rows], axis=1)
        targets = np.concatenate([np.ones(len(known)), np.zeros(len(unknown))])
        # Both kinds count the same, so that 0.5 is where errors of both kinds balance.
        share = np.where(targets == 1, 0.5 / len(known), 0.5 / len(unknown)) * len(rows)
        return cls(_fit_logistic(rows, targets, share))


def _fit_logistic(rows: FloatArray, targets: FloatArray, share: FloatArray) -> FloatArray:
    """The weights of smallest loss: cross-entropy of each row times its share, and distance from the prior.

    Newton steps are halved until the loss decreases, since classes that can be separated have no minimum
    without the prior.
    """
    penalty = PRIOR_WEIGHT / np.square(PRIOR)

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
    weights[1:] = np.maximum(weights[1:], 0.0)  # a better score never lowers the confidence
    return weights
