"""The similarity of descriptors: directions along which one object varies have less weight."""

from dataclasses import dataclass

import numpy as np

from everlearn.recognition.features import Descriptors
from everlearn.rng import IntArray

SHRINKAGE, FEW = 1.0, 50
"""Variance, as a share of the mean, that is added to every direction; twice as much for FEW differences."""
MAX_FITTED, MAX_RANK = 512, 128
"""Differences that a metric is fitted to, and directions of each layer with less weight."""


@dataclass(frozen=True, eq=False)
class Metric:
    """Inner products with the inverse of a shrunk covariance, separately for each layer.

    This is linear discriminant analysis with the covariance within an object: of its backgrounds, or of its
    images.

    Attributes:
        widths: of the layers.
        center: (n_features,) that descriptors are compared from.
        directions: for each layer (width, rank), orthonormal.
        removed: for each layer (rank,) the share of each direction that is removed.
    """

    widths: tuple[int, ...]
    center: Descriptors
    directions: list[Descriptors]
    removed: list[Descriptors]

    @classmethod
    def cosine(cls, widths: tuple[int, ...]) -> "Metric":
        """The metric in which all directions have the same weight."""
        return cls(
            widths,
            np.zeros(sum(widths), np.float32),
            [np.zeros((width, 0), np.float32) for width in widths],
            [np.zeros(0, np.float32) for _ in widths],
        )

    @classmethod
    def fit(cls, widths: tuple[int, ...], center: Descriptors, differences: Descriptors) -> "Metric":
        """Fit to differences (n, n_features) of descriptors that should be equal."""
        some = differences[spread_rows(len(differences))].astype(np.float32)
        fitted = [_shrunk(layer) for layer in _layers(some, widths)]
        return cls(widths, center, [each[0] for each in fitted], [each[1] for each in fitted])

    def layers(self, descriptors: Descriptors) -> list[Descriptors]:
        """Descriptors (..., n_features), relative to the centre, for each layer (..., width)."""
        return _layers(descriptors - self.center, self.widths)

    @property
    def slices(self) -> list[slice]:
        """The slice of a descriptor with the features of each layer."""
        ends = np.cumsum(self.widths).tolist()
        return [slice(end - width, end) for end, width in zip(ends, self.widths, strict=True)]

    def dual(self, layers: list[Descriptors]) -> list[Descriptors]:
        """Vectors whose dot products are the inner products of the layers."""
        return [self.dual_of(i, each) for i, each in enumerate(layers)]

    def dual_of(self, i: int, layer: Descriptors) -> Descriptors:
        """These vectors for one layer."""
        basis = self.directions[i]
        return np.asarray(layer - (layer @ basis * self.removed[i]) @ basis.T)

    def similarity(self, first: Descriptors, second: Descriptors) -> float:
        """The mean cosine of the layers of two descriptors (n_features,)."""
        layers, total = self.layers(second), 0.0
        norms = [float(norm) for each in (first, second) for norm in self.norms(each)]
        for i, dual in enumerate(self.dual(self.layers(first))):
            total += float(dual @ layers[i]) / (norms[i] * norms[len(layers) + i])
        return total / len(layers)

    def norms(self, descriptors: Descriptors) -> list[Descriptors]:
        """For each layer (...)."""
        layers, found = self.layers(descriptors), []
        for each, basis, share in zip(layers, self.directions, self.removed, strict=True):
            squares = np.square(each).sum(axis=-1) - np.square(each @ basis) @ share
            found.append(np.sqrt(np.maximum(squares, 1e-12)))
        return found


def spread_rows(n: int) -> IntArray:
    """The rows of n that a metric is fitted to."""
    return np.linspace(0, n - 1, min(MAX_FITTED, n)).astype(np.int64)


def _layers(descriptors: Descriptors, widths: tuple[int, ...]) -> list[Descriptors]:
    return np.split(descriptors, np.cumsum(widths)[:-1], axis=-1)


def _shrunk(differences: Descriptors) -> tuple[Descriptors, Descriptors]:
    """The directions (width, rank) of most variance, and the share of each that is removed."""
    n, width = differences.shape
    # The covariance and the Gram matrix have the same variances; the smaller one is decomposed.
    is_narrow = width < n
    square = differences.T @ differences if is_narrow else differences @ differences.T
    variances, vectors = np.linalg.eigh(square / n)
    added = SHRINKAGE * (1 + FEW / n) * float(variances.sum()) / width + 1e-12
    kept = np.flatnonzero(variances > 0.05 * added)[-MAX_RANK:]
    basis = vectors[:, kept]
    if not is_narrow:
        basis = differences.T @ basis / np.sqrt(n * variances[kept])
    removed = variances[kept] / (variances[kept] + added)
    return basis.astype(np.float32), removed.astype(np.float32)
