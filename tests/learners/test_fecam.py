import numpy as np
import pytest

from everlearn.learners.fecam import FeCAM
from everlearn.rng import rng_at

from .toy import FLAT

FEATURES = rng_at(0, "fecam features").uniform(40 * 4).reshape(40, 4)
LABELS = rng_at(0, "fecam labels").integers(40, 2)
NO_SHRINKAGE = {"diagonal_shrinkage": 1e-6, "other_shrinkage": 0.0}


def fitted(*cuts: int, **settings: float) -> FeCAM:
    learner = FeCAM(**FLAT, n_training_tasks=0, **settings)
    for rows in np.split(np.arange(40), cuts):
        learner.add_features(FEATURES[rows], LABELS[rows])
    return learner


@pytest.mark.parametrize("cuts", [(), (1, 2, 3), (20,)])
def test_running_covariance_is_that_of_all_features(cuts: tuple[int, ...]) -> None:
    for label in (0, 1):
        expected = np.cov(np.sqrt(FEATURES[label == LABELS]).T)
        np.testing.assert_allclose(fitted(*cuts).covariance(label), expected, atol=1e-11)


def test_shrinkage_by_hand() -> None:
    learner = FeCAM(**FLAT, diagonal_shrinkage=0.5, other_shrinkage=2.0)
    # Mean variance 3, mean covariance 1.
    shrunk = learner.shrink(np.array([[2.0, 1.0], [1.0, 4.0]]))
    np.testing.assert_allclose(shrunk, [[3.5, 3.0], [3.0, 5.5]])


def test_distances_by_hand() -> None:
    """Without shrinkage and at power 1: class 0 has correlation 0 and class 1 has 0.6 in two features.

    Both means are (1, 1) before they are normalized to r = sqrt(1 / 2), so that a point on the unit circle
    at r + (a, b) has distances a² + b² and (a² - 1.2 a b + b²) / 0.64.
    """
    learner = FeCAM(**FLAT, n_training_tasks=0, power=1.0, **NO_SHRINKAGE)
    square = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) / 2
    rotated = square @ np.linalg.cholesky([[1, 0.6], [0.6, 1]]).T
    features = np.zeros((8, 4))
    features[:, :2] = 1 + np.concatenate([square, rotated])
    learner.add_features(features, np.repeat([0, 1], 4))
    inverse = np.array([[1, -0.6], [-0.6, 1]]) / 0.64
    np.testing.assert_allclose(learner.inverse_covariance(1)[:2, :2], inverse, rtol=1e-5)
    point = np.zeros((1, 4))
    point[0, :2] = 0.8, 0.6
    a, b = 0.8 - np.sqrt(0.5), 0.6 - np.sqrt(0.5)
    assert a * a + b * b < (a * a - 1.2 * a * b + b * b) / 0.64
    assert learner.classify(point).tolist() == [0]


def test_class_with_one_image_is_classified_by_euclidean_distance() -> None:
    learner = FeCAM(**FLAT, n_training_tasks=0)
    learner.add_features(FEATURES[:2], np.array([5, 6]))
    np.testing.assert_allclose(learner.inverse_covariance(5), np.eye(4), atol=1e-6)
    assert learner.classify(FEATURES[:2]).tolist() == [5, 6]


def test_negative_features_keep_their_sign() -> None:
    assert FeCAM(**FLAT).transform(np.array([[-4.0, 9.0]])).tolist() == [[-2.0, 3.0]]
