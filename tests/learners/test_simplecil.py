import numpy as np
import pytest

from everlearn.learners.simplecil import SimpleCIL
from everlearn.rng import rng_at

FEATURES = rng_at(0, "simplecil features").normal(60 * 256).reshape(60, 256) + 0.3
LABELS = rng_at(0, "simplecil labels").integers(60, 4)


def test_predictions_are_those_of_scikit_learn() -> None:
    neighbors = pytest.importorskip("sklearn.neighbors")
    cosine_similarity = pytest.importorskip("sklearn.metrics.pairwise").cosine_similarity
    learner = SimpleCIL(image_shape=(16, 16), n_training_tasks=0)
    for rows in np.split(np.arange(60), [7, 30]):
        learner.add_features(FEATURES[rows], 10 * LABELS[rows])
    means = neighbors.NearestCentroid().fit(FEATURES, 10 * LABELS).centroids_
    test = rng_at(1, "simplecil features").normal(200 * 256).reshape(200, 256)
    expected = 10 * cosine_similarity(test, means).argmax(1)
    assert len(set(expected.tolist())) == 4
    np.testing.assert_array_equal(learner.classify(test), expected)


def test_length_of_a_mean_does_not_matter() -> None:
    """Means (4, 0) and (0, 1): (2, 1.5) is nearer to the second, but has the larger cosine with the first."""
    learner = SimpleCIL(image_shape=(16, 16), n_training_tasks=0)
    rows = np.zeros((3, 256))
    rows[:, :2] = [[4, 0], [0, 1], [2, 1.5]]
    learner.add_features(rows[:2], np.array([7, 8]))
    assert np.linalg.norm(rows[2] - rows[0]) > np.linalg.norm(rows[2] - rows[1])
    assert learner.classify(rows[2:]).tolist() == [7]
