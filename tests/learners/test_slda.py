import numpy as np
import pytest

from everlearn.learners.slda import SLDA
from everlearn.rng import rng_at

N = 256
FEATURES = rng_at(0, "slda features").normal(90 * N).reshape(90, N) * np.linspace(0.1, 3, N)
LABELS = rng_at(0, "slda labels").integers(90, 3)


def fitted(*cuts: int, shrinkage: float = 1e-4) -> SLDA:
    learner = SLDA(image_shape=(16, 16), n_training_tasks=0, shrinkage=shrinkage)
    for rows in np.split(np.arange(90), cuts):
        learner.add_features(FEATURES[rows], LABELS[rows])
    return learner


def pooled() -> np.ndarray:
    means = np.stack([FEATURES[label == LABELS].mean(0) for label in range(3)])
    centered = FEATURES - means[LABELS]
    return np.asarray(centered.T @ centered / 90)


@pytest.mark.parametrize("cuts", [(), (45,), (1, 2, 3, 4), tuple(range(1, 90))])
def test_running_covariance_is_that_of_all_features(cuts: tuple[int, ...]) -> None:
    np.testing.assert_allclose(fitted(*cuts).covariance, pooled(), rtol=1e-9, atol=1e-5)


def test_predictions_equal_those_of_scikit_learn() -> None:
    lda = pytest.importorskip("sklearn.discriminant_analysis").LinearDiscriminantAnalysis
    # Theirs scales the identity by the mean variance and takes its share by a covariance of its own; with
    # the covariance we shrank given to it, the discriminants are the same.
    shrunk = 0.9 * pooled() + 0.1 * np.eye(N)

    class Given:
        def fit(self, _x: np.ndarray) -> "Given":
            self.covariance_ = shrunk
            return self

    theirs = lda(solver="lsqr", covariance_estimator=Given(), priors=[1 / 3] * 3).fit(FEATURES, LABELS)
    test = rng_at(1, "slda asked").normal(500 * N).reshape(500, N)
    np.testing.assert_array_equal(fitted(7, 50, shrinkage=0.1).classify(test), theirs.predict(test))


def test_correlated_features_by_hand() -> None:
    """Both classes stretch along (1, 1) around (0, 0) and (2, 0); only x - y separates them."""
    learner = SLDA(image_shape=(16, 16), n_training_tasks=0)
    features = np.zeros((4, N))
    features[:, :2] = [[-5, -5], [5, 5], [-3, -5], [7, 5]]
    learner.add_features(features, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(learner.covariance[:2, :2], [[25, 25], [25, 25]])
    test = np.zeros((2, N))
    test[:, :2] = [[3, 2.5], [-2, -3.8]]  # x - y is 0.5 and 1.8, where 0 and 2 are those of the classes
    assert learner.classify(test).tolist() == [0, 1]
    of_means = SLDA(image_shape=(16, 16), n_training_tasks=0, shrinkage=1.0)
    of_means.add_features(features, np.array([0, 0, 1, 1]))
    assert of_means.classify(test).tolist() == [1, 0]


def test_full_shrinkage_compares_means_only() -> None:
    learner = fitted(shrinkage=1.0)
    means = learner.sums.means()
    distances = np.square(FEATURES[:, None] - means).sum(2)
    np.testing.assert_array_equal(learner.classify(FEATURES), learner.sums.labels[distances.argmin(1)])
