import numpy as np
import pytest

from everlearn.evaluation.random_forest import importances
from everlearn.rng import rng_at

COLUMNS = rng_at(0, "forest test").uniform(4000 * 5).reshape(4000, 5)


def test_importance_is_the_share_of_variance() -> None:
    """A sum of independent terms, whose variances are known."""
    target = 2 * COLUMNS[:, 0] + COLUMNS[:, 3]
    weights, r2 = importances(COLUMNS, target)
    assert weights == pytest.approx([0.8, 0, 0, 0.2, 0], abs=0.03)
    assert r2 > 0.95


def test_noise_is_not_explained() -> None:
    assert importances(COLUMNS, rng_at(1, "forest noise").normal(4000))[1] < 0.02
    signal = COLUMNS[:, 1] * np.sqrt(12)
    _, r2 = importances(COLUMNS, signal + rng_at(2, "forest noise").normal(4000))
    assert r2 == pytest.approx(0.5, abs=0.05)


def test_nonlinear_relations_and_interactions_are_found() -> None:
    weights, r2 = importances(COLUMNS, np.abs(COLUMNS[:, 2] - 0.5))
    assert weights[2] > 0.95
    assert r2 > 0.95
    target = np.sign(COLUMNS[:, 0] - 0.4) * np.sign(COLUMNS[:, 1] - 0.6)
    weights, r2 = importances(COLUMNS, target)
    assert weights[:2].sum() > 0.95
    assert r2 > 0.8


def test_duplicated_columns_share_the_importance() -> None:
    twice = np.stack([COLUMNS[:, 0], COLUMNS[:, 0], COLUMNS[:, 1]], axis=1)
    weights, _ = importances(twice, COLUMNS[:, 0])
    assert min(weights[:2]) > 0.25


def test_constant_target_has_no_importances() -> None:
    weights, r2 = importances(COLUMNS[:100], np.ones(100))
    assert (weights.tolist(), r2) == ([0.0] * 5, 0.0)


def test_seed_determines_the_result() -> None:
    target = COLUMNS.sum(axis=1)
    assert np.array_equal(importances(COLUMNS, target)[0], importances(COLUMNS, target)[0])
    assert not np.array_equal(importances(COLUMNS, target)[0], importances(COLUMNS, target, seed=1)[0])
