"""Random projections and ridge regression on frozen features (RanPAC)."""

from typing import ClassVar

import numpy as np

from everlearn.learners.base import setting
from everlearn.learners.frozen_features import FrozenFeatures
from everlearn.learners.stateful import Names
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams import Batch, TaskView

RIDGES = 10.0 ** np.arange(-8, 9)
"""Ridge penalties that are compared, as in the published code."""
FIT_SHARE = 0.8
"""Share of a task's images on which the compared weights are fitted."""


class RanPAC(FrozenFeatures):
    """Random projections and ridge regression on frozen features (RanPAC).

    With h = relu(f P), where P is a fixed random matrix, G the sum of h hᵀ over all images and C the sum of
    h for each class, the prediction is the class with the largest h · (G + ridge I)⁻¹ C. G and C are sums, so
    they equal those of all images at once, for any order and batches. After each task the ridge is selected
    among powers of ten: weights fitted on 80 % of its images predict the rest. G needs n_projections² numbers
    of memory. It fails where the frozen features do.

    Example:
        >>> learner = RanPAC.tiny()
        >>> learner.add_features(np.eye(256)[:3], np.array([4, 4, 9]))
        >>> learner.classify(np.eye(256)[:3])
        array([4, 4, 9])

    Reference: McDonnell et al. 2023, "RanPAC: random projections and pre-trained models for continual
    learning", arXiv:2307.02251.
    """

    n_projections: int = setting(
        "length of the projected features; 10,000 in the paper", default=1000, ge=1, le=20_000
    )
    ridge: float = setting(
        "ridge penalty of the regression; 0 selects it after each task", default=0.0, ge=0, le=1e12
    )

    parts: ClassVar[Names] = ("projection", "gram", "class_sums")
    counters: ClassVar[Names] = ("selected_ridge",)
    tiny_settings: ClassVar = {"n_projections": 64}

    def setup(self) -> None:
        super().setup()
        d, m = self.sums.n_features, self.n_projections
        self.projection = rng_at(self.seed, "random projection").normal(d * m).reshape(d, m)
        self.gram, self.class_sums = np.zeros((m, m)), np.zeros((0, m))
        self.selected_ridge = self.ridge or 1.0
        self._weights: FloatArray | None = None

    def add_features(self, features: FloatArray, labels: IntArray) -> None:
        self.sums.add(features, labels)
        projected = self.project(features)
        new = np.zeros((len(self.sums) - len(self.class_sums), self.n_projections))
        self.class_sums = np.concatenate([self.class_sums, new])
        self.class_sums += one_hot(self.sums.positions(labels), len(self.sums)).T @ projected
        self.gram += projected.T @ projected
        self._weights = None

    def end(self, task: TaskView) -> None:
        super().end(task)
        if self.is_frozen and not self.ridge:
            self.selected_ridge, self._weights = self.best_ridge(task.train), None

    def best_ridge(self, images: Batch) -> float:
        """The ridge with the smallest squared error on images that the weights were not fitted on."""
        images = images.shuffled(self.seed, self.n_ended)
        self.count_flops(len(images), self.forward_flops, backward=False)
        projected = self.project(self.features(images.images))
        targets = one_hot(self.sums.positions(images.labels), len(self.sums))
        n = int(FIT_SHARE * len(images))
        # With G = U diag(s) Uᵀ, (G + ridge I)⁻¹ is U diag(1 / (s + ridge)) Uᵀ: one decomposition serves all.
        s, u = np.linalg.eigh(projected[:n].T @ projected[:n])
        inputs, sums = projected[n:] @ u, u.T @ (projected[:n].T @ targets[:n])
        outputs = (inputs @ (sums / (np.maximum(s, 0) + ridge)[:, None]) for ridge in RIDGES)
        errors = [np.square(output - targets[n:]).sum() for output in outputs]
        return float(RIDGES[np.argmin(errors)])

    def classify(self, features: FloatArray) -> IntArray:
        if self._weights is None:
            self._weights = self._solve()
        return np.asarray(self.sums.labels[(self.project(features) @ self._weights).argmax(1)])

    def project(self, features: FloatArray) -> FloatArray:
        """(n, n_features) -> (n, n_projections), nonnegative."""
        return np.maximum(features @ self.projection, 0)

    def on_load(self) -> None:
        self._weights = None

    def _solve(self) -> FloatArray:
        """The weights (n_projections, n_labels) of the regression."""
        penalized = self.gram + self.selected_ridge * np.eye(self.n_projections)
        return np.asarray(np.linalg.solve(penalized, self.class_sums.T), np.float64)


def one_hot(indices: IntArray, n: int) -> FloatArray:
    """Indices (k,) as rows (k, n) of zeros and a one.

    Example:
        >>> one_hot(np.array([2, 0]), 3)
        array([[0., 0., 1.],
               [1., 0., 0.]])
    """
    return np.asarray(indices[:, None] == np.arange(n), np.float64)
