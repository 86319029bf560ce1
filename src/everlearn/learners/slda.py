"""Streaming linear discriminant analysis: one mean per class, one covariance for all."""

from typing import Unpack

import numpy as np

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, State
from everlearn.learners.old_base.classifier import Shared
from everlearn.learners.old_base.frozen import Frozen
from everlearn.rng import FloatArray, IntArray


class SLDA(Frozen):
    """Train a network on the first task, then tell classes apart by their means and a shared covariance.

    With S the covariance of features around the means of their classes and L the inverse of
    (1 - shrinkage) S + shrinkage I, the answer is the class with the largest m · L f - m · L m / 2. Means and
    S are running ones and equal those of all features at once, in whatever batches these came. Expect it to
    beat `prototypes` where features vary together, and to fail where the first task's features do.

    Args:
        shrinkage: how much of the identity is mixed into the covariance; 1 compares means only.

    Example:
        >>> learner = SLDA.tiny()
        >>> learner.gather(np.eye(256)[:3], np.array([4, 4, 9]))
        >>> learner.decide(np.eye(256)[:3])
        array([4, 4, 9])

    Reference: Hayes and Kanan 2020, "Lifelong machine learning with deep streaming linear discriminant
    analysis", arXiv:1909.01520; on a network of the first task: Panos et al. 2023, arXiv:2303.13199.
    """

    def __init__(self, *, shrinkage: float = 1e-4, trained_tasks: int = 1, **shared: Unpack[Shared]) -> None:
        super().__init__(trained_tasks=trained_tasks, **shared)
        check_range("shrinkage", shrinkage, 1e-9, 1)
        self.shrinkage = shrinkage
        self.scatter = np.zeros((self.sums.n_features, self.sums.n_features))
        self._weights: tuple[FloatArray, FloatArray] | None = None

    def gather(self, features: FloatArray, labels: IntArray) -> None:
        """Bring means and covariance up to date.

        The scatter of two groups of one class is the scatter within each and that between their means.
        """
        for label in dict.fromkeys(labels.tolist()):
            own = features[labels == label]
            self.scatter += _scatter(own) + self._scatter_to_known(label, own)
        self.sums.add(features, labels)
        self._weights = None

    def decide(self, features: FloatArray) -> IntArray:
        """The class with the largest discriminant; the first of equals."""
        if self._weights is None:
            self._weights = self._discriminants()
        weights, biases = self._weights
        return np.asarray(self.sums.labels[(features @ weights.T + biases).argmax(1)])

    @property
    def covariance(self) -> FloatArray:
        """Of all features around the means of their classes."""
        return self.scatter / max(1, int(self.sums.counts.sum()))

    def state(self) -> State:
        """The network's state, means and scatter."""
        return {**super().state(), "scatter": self.scatter.copy()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.scatter, self._weights = np.array(state["scatter"]), None

    def footprint(self) -> Footprint:
        """The bytes of the network, of the sums and of the scatter."""
        held = super().footprint()
        return Footprint(weights=held.weights, memory=held.memory + self.scatter.nbytes)

    def _scatter_to_known(self, label: int, own: FloatArray) -> FloatArray:
        which = np.array([label])
        (row,) = self.sums.positions(which)
        if row < 0:
            return np.zeros_like(self.scatter)
        before, n = int(self.sums.counts[row]), len(own)
        gap = own.mean(0) - self.sums.means(which)[0]
        return np.outer(gap, gap) * (before * n / (before + n))

    def _discriminants(self) -> tuple[FloatArray, FloatArray]:
        """A weight vector and a bias for each class."""
        means = self.sums.means()
        mixed = (1 - self.shrinkage) * self.covariance + self.shrinkage * np.eye(self.sums.n_features)
        weights: FloatArray = np.linalg.solve(mixed, means.T).T.astype(np.float64, copy=False)
        return weights, -0.5 * (weights * means).sum(1)


def _scatter(features: FloatArray) -> FloatArray:
    centred = features - features.mean(0)
    return np.asarray(centred.T @ centred)
