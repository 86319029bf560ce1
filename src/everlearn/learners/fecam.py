"""Feature covariance-aware metric (FeCAM)."""

from typing import ClassVar

import numpy as np

from everlearn.learners.base import setting
from everlearn.learners.frozen_features import FrozenFeatures
from everlearn.learners.stateful import Names
from everlearn.learners.stored_means import normalize
from everlearn.rng import FloatArray, IntArray

MIN_VARIANCE = 1e-12
"""Variance of the features of a class with one image; its distances are Euclidean."""


class FeCAM(FrozenFeatures):
    """Mahalanobis distance to class means of frozen features (FeCAM).

    Features and class means are raised to a `power` and normalized to f and m; S is the covariance of the
    powers of a class, shrunk twice and divided by standard deviations, so that all classes have one scale.
    The prediction is the class with the smallest (f - m) · S⁻¹ (f - m). Moments of each class are running
    sums, which equal those of all images at once, for any batches. Unlike `slda`, it has one covariance per
    class: n_features² numbers each. With fewer images than features it depends on shrinkage.

    Example:
        >>> learner = FeCAM.tiny()
        >>> features = np.random.default_rng(0).uniform(size=(20, 256)) + np.repeat(np.eye(256)[:2], 10, 0)
        >>> learner.add_features(features, np.repeat([4, 9], 10))
        >>> (learner.classify(features) == np.repeat([4, 9], 10)).all()
        np.True_

    Reference: Goswami et al. 2023, "FeCAM: exploiting the heterogeneity of class distributions in
    exemplar-free continual learning", arXiv:2309.14062.
    """

    power: float = setting(
        "power of features (Tukey's transform); negative ones keep their sign", default=0.5, gt=0, le=1
    )
    diagonal_shrinkage: float = setting(
        "share of the mean variance that is added to variances", default=1.0, ge=1e-6, le=1e6
    )
    other_shrinkage: float = setting(
        "share of the mean covariance that is added to other covariances", default=1.0, ge=0, le=1e6
    )

    parts: ClassVar[Names] = ("moments",)

    def setup(self) -> None:
        super().setup()
        n = self.sums.n_features + 1
        self.moments = np.zeros((0, n, n))
        self._inverses: dict[int, FloatArray] = {}

    def add_features(self, features: FloatArray, labels: IntArray) -> None:
        self.sums.add(features, labels)
        new = np.zeros((len(self.sums) - len(self.moments), *self.moments.shape[1:]))
        self.moments = np.concatenate([self.moments, new])
        # With a constant 1 as last feature, the sum of outer products holds sums and the count too.
        powers = np.column_stack([self.transform(features), np.ones(len(features))])
        for label in np.unique(labels).tolist():
            of_class = powers[labels == label]
            self.moments[self.sums.positions(np.array([label]))[0]] += of_class.T @ of_class
            self._inverses.pop(label, None)

    def classify(self, features: FloatArray) -> IntArray:
        points, means = (normalize(self.transform(each)) for each in (features, self.sums.means()))
        distances = [
            ((points - mean) @ self.inverse_covariance(label) * (points - mean)).sum(1)
            for label, mean in zip(self.sums.labels.tolist(), means, strict=True)
        ]
        return np.asarray(self.sums.labels[np.argmin(distances, axis=0)])  # the first of equals

    def transform(self, features: FloatArray) -> FloatArray:
        """Powers of features, with their signs."""
        return np.sign(features) * np.abs(features) ** self.power

    def inverse_covariance(self, label: int) -> FloatArray:
        """The inverse of the shrunk and normalized covariance of a class; computed once after each change."""
        if label not in self._inverses:
            covariance = self.shrink(self.shrink(self.covariance(label)))
            stds = np.sqrt(np.diag(covariance))
            self._inverses[label] = np.linalg.inv(covariance / np.outer(stds, stds))
        return self._inverses[label]

    def covariance(self, label: int) -> FloatArray:
        """The covariance of the powers of a class; tiny for one image."""
        moments = self.moments[self.sums.positions(np.array([label]))[0]]
        n, sums = moments[-1, -1], moments[-1, :-1]
        scatter = moments[:-1, :-1] - np.outer(sums, sums) / n
        return scatter / max(1.0, n - 1) + MIN_VARIANCE * np.eye(len(sums))

    def shrink(self, covariance: FloatArray) -> FloatArray:
        """The covariance plus shares of the mean variance and of the mean covariance of two features."""
        n, identity = len(covariance), np.eye(len(covariance))
        variance = np.trace(covariance) / n
        other = (covariance.sum() - n * variance) / max(1, n * (n - 1))
        added = self.diagonal_shrinkage * variance * identity + self.other_shrinkage * other * (1 - identity)
        return np.asarray(covariance + added)

    def on_load(self) -> None:
        self._inverses = {}
