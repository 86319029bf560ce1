import numpy as np
import pytest

from everlearn.learners.ranpac import RIDGES, RanPAC, one_hot
from everlearn.rng import rng_at
from everlearn.streams import sprites

from .toy import batch_of

N, M = 256, 40
LABELS = rng_at(0, "ranpac labels").integers(90, 3)
FEATURES = rng_at(0, "ranpac features").normal(90 * N).reshape(90, N) + np.eye(3, N)[LABELS] * 4


def fitted(*cuts: int, ridge: float = 10.0) -> RanPAC:
    learner = RanPAC(image_shape=(16, 16), n_training_tasks=0, n_projections=M, ridge=ridge)
    for rows in np.split(np.arange(90), cuts):
        learner.add_features(FEATURES[rows], 10 * LABELS[rows])
    return learner


@pytest.mark.parametrize("cuts", [(), (3, 4, 50)])
def test_predictions_are_those_of_ridge_regression(cuts: tuple[int, ...]) -> None:
    ridge = pytest.importorskip("sklearn.linear_model").Ridge(alpha=10.0, fit_intercept=False)
    learner = fitted(*cuts)
    ridge.fit(np.maximum(FEATURES @ learner.projection, 0), np.eye(3)[LABELS])
    test = rng_at(1, "ranpac features").normal(300 * N).reshape(300, N)
    scores = np.maximum(test @ learner.projection, 0) @ ridge.coef_.T
    expected = np.array([0, 10, 20])[scores.argmax(1)]
    assert len(set(expected.tolist())) == 3
    np.testing.assert_array_equal(learner.classify(test), expected)


def test_weights_by_hand() -> None:
    """Images (1), (2) of class 0 and (3) of class 1 under the projection 1: G = 14, C = (3, 3), ridge 1."""
    learner = RanPAC(image_shape=(16, 16), n_training_tasks=0, n_projections=1, ridge=1.0)
    learner.projection = np.eye(N, 1)
    features = np.zeros((3, N))
    features[:, 0] = [1, 2, 3]
    learner.add_features(features, np.array([0, 0, 1]))
    learner.classify(features)
    assert learner._weights is not None
    np.testing.assert_allclose(learner._weights, [[3 / 15, 3 / 15]])


def test_ridge_with_the_smallest_error_on_other_images_is_selected() -> None:
    task = sprites(image_size=16, factor_values=3, classes_per_task=3).task(0)
    learner = RanPAC(image_shape=(16, 16), n_training_tasks=0, n_projections=M)
    learner.learn(task.train)
    learner.end(task.for_learner())
    images = task.train.shuffled(0, 1)
    projected = learner.project(learner.features(images.images))
    targets, n, errors = one_hot(images.labels, 3), int(0.8 * len(images)), []
    for ridge in RIDGES:
        gram = projected[:n].T @ projected[:n] + ridge * np.eye(M)
        weights = np.linalg.solve(gram, projected[:n].T @ targets[:n])
        errors.append(np.square(projected[n:] @ weights - targets[n:]).sum())
    assert 0 < np.argmin(errors) < len(RIDGES) - 1
    assert learner.selected_ridge == RIDGES[np.argmin(errors)]


def test_given_ridge_is_kept() -> None:
    learner, batch = RanPAC(image_shape=(2, 2), backbone="flat", n_training_tasks=0, ridge=3.0), batch_of([1])
    learner.learn(batch)
    assert learner.selected_ridge == 3.0
