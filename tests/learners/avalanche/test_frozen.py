"""Classifiers of frozen features: FeCAM."""

import numpy as np
import pytest
import torch

from everlearn.learners.fecam import FeCAM
from everlearn.rng import rng_at

N = 256
pytestmark = pytest.mark.filterwarnings("ignore:To copy construct")  # Avalanche's


def test_fecam(avalanche) -> None:
    """The same distances from the same features; Avalanche is given our means.

    It averages transformed features; the published code transforms averages, and so do we.
    """
    from avalanche.models import FeCAMClassifier
    from avalanche.models.fecam import compute_covariance

    labels = rng_at(0, "fecam labels").integers(90, 3)
    features = rng_at(0, "fecam features").uniform(90 * N).reshape(90, N) ** (1 + labels[:, None])
    learner, theirs = FeCAM(image_shape=(16, 16), n_training_tasks=0), FeCAMClassifier()
    learner.add_features(features, labels)
    means = torch.from_numpy(np.sqrt(learner.sums.means()))
    theirs.update_class_means_dict(dict(zip(learner.sums.labels.tolist(), means.float(), strict=True)))
    powers = torch.from_numpy(features).sqrt()
    theirs.update_class_cov_dict(
        theirs.apply_cov_transforms(compute_covariance(powers, torch.from_numpy(labels)))
    )
    test = rng_at(1, "fecam features").uniform(200 * N).reshape(200, N) ** 2
    distances = -theirs(torch.from_numpy(test).float()).numpy()
    points, prototypes = np.sqrt(test), np.sqrt(learner.sums.means())
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    prototypes /= np.linalg.norm(prototypes, axis=1, keepdims=True)
    for row, label in enumerate(learner.sums.labels.tolist()):
        away = points - prototypes[row]
        ours = np.einsum("ni,ij,nj->n", away, learner.inverse_covariance(label), away)
        np.testing.assert_allclose(ours, distances[:, label], rtol=2e-3)
    np.testing.assert_array_equal(learner.classify(test), distances.argmin(1))
