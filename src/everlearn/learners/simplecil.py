"""A cosine classifier of class means (SimpleCIL)."""

import numpy as np

from everlearn.learners.frozen_features import FrozenFeatures
from everlearn.rng import FloatArray, IntArray


class SimpleCIL(FrozenFeatures):
    """Cosine similarity to class means of frozen features (SimpleCIL).

    The prediction is the class whose mean feature has the largest cosine with the feature of the image. The
    published method is n_training_tasks=0 with pretrained `weights`; with 1, the default, the backbone is
    trained on the first task, as in the adapted variants of the paper. Unlike in `prototypes`, the lengths of
    features do not matter. It fails where the frozen features do.

    Example:
        >>> learner = SimpleCIL.tiny()
        >>> learner.add_features(np.eye(256)[:3] * 5, np.array([4, 4, 9]))
        >>> learner.classify(np.eye(256)[:3])
        array([4, 4, 9])

    Reference: Zhou et al. 2023, "Revisiting class-incremental learning with pre-trained models:
    generalizability and adaptivity are all you need", arXiv:2303.07338.
    """

    def add_features(self, features: FloatArray, labels: IntArray) -> None:
        self.sums.add(features, labels)

    def classify(self, features: FloatArray) -> IntArray:
        means = self.sums.means()
        # The length of the feature is the same for every class; the first of equals.
        lengths = np.maximum(np.linalg.norm(means, axis=1), 1e-12)
        return np.asarray(self.sums.labels[(features @ means.T / lengths).argmax(1)])
