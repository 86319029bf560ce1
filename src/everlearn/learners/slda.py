"""Streaming linear discriminant analysis (SLDA)."""

from typing import ClassVar

import numpy as np

from everlearn.learners.base import setting
from everlearn.learners.frozen_features import FrozenFeatures
from everlearn.learners.stateful import Names
from everlearn.rng import FloatArray, IntArray


class SLDA(FrozenFeatures):
    """Streaming linear discriminant analysis.

    With S the covariance of features around their class means and L the inverse of
    (1 - shrinkage) S + shrinkage I, the prediction is the class with the largest m · L f - m · L m / 2, in a
    feature space that is frozen after the first task. Running means and S equal those of all features at
    once, for any batches. It is better than `prototypes` where features are correlated, and fails where the
    features of the first task do.

    Example:
        >>> learner = SLDA.tiny()
        >>> learner.add_features(np.eye(256)[:3], np.array([4, 4, 9]))
        >>> learner.classify(np.eye(256)[:3])
        array([4, 4, 9])

    Reference: Hayes and Kanan 2020, "Lifelong machine learning with deep streaming linear discriminant
    analysis", arXiv:1909.01520; on a backbone of the first task: Panos et al. 2023, arXiv:2303.13199.
    """

    shrinkage: float = setting(
        "fraction of the identity in the covariance; 1 compares means only", default=1e-4, ge=1e-9, le=1
    )

    parts: ClassVar[Names] = ("scatter",)

    def setup(self) -> None:
        super().setup()
        self.scatter = np.zeros((self.sums.n_features, self.sums.n_features))
        self._discriminants: tuple[FloatArray, FloatArray] | None = None

    def add_features(self, features: FloatArray, labels: IntArray) -> None:
        for label in dict.fromkeys(labels.tolist()):
            of_class = features[labels == label]
            centered = of_class - of_class.mean(0)
            self.scatter += centered.T @ centered + self._scatter_between(label, of_class)
        self.sums.add(features, labels)
        self._discriminants = None

    def classify(self, features: FloatArray) -> IntArray:
        if self._discriminants is None:
            self._discriminants = self._compute_discriminants()
        weights, biases = self._discriminants
        return np.asarray(self.sums.labels[(features @ weights.T + biases).argmax(1)])  # the first of equals

    @property
    def covariance(self) -> FloatArray:
        """The covariance of all features around their class means."""
        return self.scatter / max(1, int(self.sums.counts.sum()))

    def on_load(self) -> None:
        self._discriminants = None

    def _scatter_between(self, label: int, features: FloatArray) -> FloatArray:
        """The scatter between the mean of new features of a class and that of earlier ones.

        The scatter of a union is the scatter within both groups plus that between their means.
        """
        (row,) = self.sums.positions(np.array([label]))
        if row < 0:
            return np.zeros_like(self.scatter)
        before, n = int(self.sums.counts[row]), len(features)
        difference = features.mean(0) - self.sums.means(np.array([label]))[0]
        return np.outer(difference, difference) * (before * n / (before + n))

    def _compute_discriminants(self) -> tuple[FloatArray, FloatArray]:
        """A weight vector and a bias for each class."""
        means = self.sums.means()
        mixed = (1 - self.shrinkage) * self.covariance + self.shrinkage * np.eye(self.sums.n_features)
        weights: FloatArray = np.linalg.solve(mixed, means.T).T.astype(np.float64, copy=False)
        return weights, -0.5 * (weights * means).sum(1)
