"""Confidence: of separable scores, of overlapping scores, and without any."""

import numpy as np
import pytest

from everlearn.recognition.calibration import PRIOR, Calibration


def scores(mean: float, n: int, spread: float) -> np.ndarray:
    return np.random.default_rng(round(100 * mean)).normal(mean, spread, (n, 3)).clip(0, 1)


@pytest.mark.parametrize("spread", [0.01, 0.15])
def test_errors_of_both_kinds_balance(spread: float) -> None:
    known, others = scores(0.8, 200, spread), scores(0.4, 40, spread)
    fitted = Calibration.fit(known, others)
    refused, accepted = (fitted.confidence(known) < 0.5).mean(), (fitted.confidence(others) >= 0.5).mean()
    assert max(refused, accepted) <= 0.1
    assert (fitted.weights[1:] >= 0).all()
    assert np.isfinite(fitted.weights).all()


def test_the_prior_holds_without_scores_and_is_left_with_many() -> None:
    none = np.zeros((0, 3))
    np.testing.assert_array_equal(Calibration.fit(none, scores(0.4, 5, 0.1)).weights, PRIOR)
    shifted = Calibration.fit(scores(0.4, 300, 0.05), scores(0.1, 300, 0.05))
    assert shifted.confidence(scores(0.4, 300, 0.05)).mean() > 0.8
