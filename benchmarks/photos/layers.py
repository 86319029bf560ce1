"""Which layers of a frozen network to compare, and how: sums of whitened cosines of several layers.

`python -m benchmarks.photos --set aloi --method layers` runs all variants and stores them as one method each.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from benchmarks.photos.archives import Pixels
from benchmarks.photos.features import Vectors, features, layer_slices
from benchmarks.photos.methods import ScoredMethod, normalized

BACKBONE = "efficientnet-lite0"
LAYERS = ("top", "block16", "block11", "block16+top", "block11+block16+top", "block8+block11+block16+top")
SHRINKAGES = ("cosine", "0.1")
VARIANTS = tuple(f"{layers}, {shrinkage}" for layers, shrinkage in product(LAYERS, SHRINKAGES))
"""Layers, and "cosine" or the shrinkage of a whitening."""


class LayerSum(ScoredMethod):
    """The sum over layers of the cosine with the mean of each name.

    Features are whitened with the covariance within the names, or with that of all exemplars if each name has
    one; the shrinkage is added to its eigenvalues, relative to their mean.
    """

    def __init__(self, variant: str, trim: bool) -> None:
        def embed(images: Sequence[Pixels]) -> Vectors:
            return features(BACKBONE, images, trim)

        super().__init__(embed)
        layers, shrinkage = variant.split(", ")
        self.slices = [layer_slices(BACKBONE)[layer] for layer in layers.split("+")]
        self.shrinkage = None if shrinkage == "cosine" else float(shrinkage)

    def fit(self, vectors: Vectors) -> None:
        self.maps = [self._whitening(vectors[:, part]) for part in self.slices]
        self.means = [normalized(self._means(layer)) for layer in self._layers(vectors)]

    def _whitening(self, vectors: Vectors) -> tuple[Vectors, Vectors] | None:
        """The centre and the matrix that whitens; None for plain cosines."""
        if self.shrinkage is None:
            return None
        centre = vectors.mean(axis=0)
        several = np.bincount(self.targets).max() > 1
        apart = vectors - (self._means(vectors)[self.targets] if several else centre)
        values, basis = np.linalg.eigh((apart.T @ apart / len(apart)).astype(np.float64))
        values = np.maximum(values, 0)
        return centre, (basis / np.sqrt(values + self.shrinkage * values.mean())).astype(np.float32)

    def _layers(self, vectors: Vectors) -> list[Vectors]:
        parts = [vectors[:, part] for part in self.slices]
        white = [
            part if found is None else np.asarray((part - found[0]) @ found[1], np.float32)
            for part, found in zip(parts, self.maps, strict=True)
        ]
        return [normalized(part) for part in white]

    def scores(self, vectors: Vectors) -> Vectors:
        cosines = [layer @ means.T for layer, means in zip(self._layers(vectors), self.means, strict=True)]
        return np.asarray(np.sum(cosines, axis=0), np.float32)
