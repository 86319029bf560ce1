"""Methods that are taught and asked: baselines on pixels, SIFT and frozen features, and the product."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from benchmarks.photos.archives import Pixels
from benchmarks.photos.features import Vectors, features, layer_slices, prepared, remembered
from benchmarks.photos.queries import Answer, QuerySet

NEIGHBOURS = 5
PROJECTED = 10_000
RIDGES = (0.01, 0.1, 1.0)
"""Ridge penalties of RanPAC, relative to the mean squared length of a projected feature vector."""
SHRINKAGE = 0.1
KNOWN_QUANTILE = 0.95

Embed = Callable[[Sequence[Pixels]], Vectors]


class Method(Protocol):
    """A method to compare: it is taught images with names, and asked about other images."""

    def teach(self, images: Sequence[Pixels], names: Sequence[str]) -> None:
        """Store the things."""

    def ask(self, images: Sequence[Pixels]) -> list[Answer]:
        """Answers in the order of the images."""


class ScoredMethod:
    """A method that gives each taught name a score; the best name has the highest one.

    A thing is called unknown when its best score is below the 0.95-quantile of the best scores that the
    taught exemplars reach with another name than their own. Thus about 5 % of the unknown things are accepted
    if they are like the taught ones.
    """

    def __init__(self, embed: Embed) -> None:
        self.embed = embed

    def teach(self, images: Sequence[Pixels], names: Sequence[str]) -> None:
        self.names = sorted(set(names))
        self.targets = np.array([self.names.index(name) for name in names])
        vectors = self.embed(images)
        self.fit(vectors)
        own = self.scores(vectors)
        own[np.arange(len(own)), self.targets] = -np.inf
        self.threshold = float(np.quantile(own.max(axis=1), KNOWN_QUANTILE))

    def ask(self, images: Sequence[Pixels]) -> list[Answer]:
        scores = self.scores(self.embed(images))
        best = scores.argmax(axis=1)
        return [self._answer(int(i), float(row[i])) for i, row in zip(best, scores, strict=True)]

    def _answer(self, index: int, score: float) -> Answer:
        name = self.names[index]
        return Answer(name if score >= self.threshold else None, name, score)

    def fit(self, vectors: Vectors) -> None:
        """Fit the method to the exemplars."""
        raise NotImplementedError

    def scores(self, vectors: Vectors) -> Vectors:
        """Scores (n, names) of vectors."""
        raise NotImplementedError

    def _one_hot(self) -> Vectors:
        return np.eye(len(self.names), dtype=np.float32)[self.targets]

    def _means(self, vectors: Vectors) -> Vectors:
        counts = np.bincount(self.targets)[:, None].astype(np.float32)
        return np.asarray(self._one_hot().T @ vectors / counts, np.float32)


class NearestMean(ScoredMethod):
    """Cosine with the mean of the normalized features of each name."""

    def fit(self, vectors: Vectors) -> None:
        self.means = normalized(self._means(normalized(vectors)))

    def scores(self, vectors: Vectors) -> Vectors:
        return normalized(vectors) @ self.means.T


class NearestNeighbours(ScoredMethod):
    """Cosine with the k nearest exemplars: the similarities of one name are added."""

    def __init__(self, embed: Embed, k: int = NEIGHBOURS) -> None:
        super().__init__(embed)
        self.k = k

    def fit(self, vectors: Vectors) -> None:
        self.exemplars = normalized(vectors)
        # With one exemplar of each name, more neighbours than one only add other names.
        self.used = self.k if np.bincount(self.targets).max() > 1 else 1

    def scores(self, vectors: Vectors) -> Vectors:
        similar = normalized(vectors) @ self.exemplars.T
        scores = np.full((len(vectors), len(self.names)), -1.0, np.float32)
        np.maximum.at(scores.T, self.targets, similar.T)
        if self.used > 1:
            nearest = np.argpartition(-similar, self.used, axis=1)[:, : self.used]
            for column in nearest.T:
                rows = np.arange(len(vectors))
                scores[rows, self.targets[column]] += np.maximum(similar[rows, column], 0)
        return scores


class SLDA(ScoredMethod):
    """Linear discriminant analysis with one covariance, which is the covariance within the names.

    With one exemplar of each name there is none, and the covariance of all exemplars is used.

    Reference: Hayes and Kanan 2020, "Lifelong machine learning with deep streaming linear discriminant
    analysis", arXiv:1909.01520.
    """

    def fit(self, vectors: Vectors) -> None:
        means = self._means(vectors)
        apart = vectors - means[self.targets]
        if np.bincount(self.targets).max() == 1:
            apart = vectors - vectors.mean(axis=0)
        covariance = apart.T @ apart / len(apart)
        shrunk = covariance + SHRINKAGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        values, basis = np.linalg.eigh(shrunk)
        self.whitening = (basis / np.sqrt(values)).astype(np.float32)
        self.means = means @ self.whitening

    def scores(self, vectors: Vectors) -> Vectors:
        """Half of the negative squared Mahalanobis distances, which rank as the linear scores do."""
        white = vectors @ self.whitening
        squares = (white**2).sum(axis=1)[:, None] + (self.means**2).sum(axis=1)
        return white @ self.means.T - 0.5 * squares


class RanPAC(ScoredMethod):
    """Ridge regression on randomly projected features: W = (G + penalty I)^-1 C.

    It is computed from the Gram matrix of the exemplars, which gives the same W and is smaller. The penalty
    has the least leave-one-out error; it is the middle one if each name has one exemplar.

    Reference: McDonnell et al. 2023, "RanPAC: random projections and pre-trained models for continual
    learning", arXiv:2307.02251.
    """

    def fit(self, vectors: Vectors) -> None:
        rng = np.random.default_rng(0)
        self.projection = rng.standard_normal((vectors.shape[1], PROJECTED), dtype=np.float32)
        self.exemplars = self._project(vectors)
        gram = (self.exemplars @ self.exemplars.T).astype(np.float64)
        values, basis = np.linalg.eigh(gram)
        scale = float(np.trace(gram)) / len(gram)
        fits = [self._fit(values, basis, ridge * scale) for ridge in RIDGES]
        several = np.bincount(self.targets).max() > 1
        self.weights = min(fits, key=lambda fit: fit[0])[1] if several else fits[len(fits) // 2][1]

    def _fit(self, values: Vectors, basis: Vectors, ridge: float) -> tuple[float, Vectors]:
        """The share of wrong leave-one-out predictions, and the weights of the exemplars."""
        inverse = (basis / (values + ridge)) @ basis.T
        weights = inverse @ self._one_hot()
        left_out = self._one_hot() - weights / np.diag(inverse)[:, None]
        return float((left_out.argmax(axis=1) != self.targets).mean()), weights.astype(np.float32)

    def _project(self, vectors: Vectors) -> Vectors:
        return np.maximum(normalized(vectors) @ self.projection, 0)

    def scores(self, vectors: Vectors) -> Vectors:
        return self._project(vectors) @ (self.exemplars.T @ self.weights)


def normalized(vectors: Vectors) -> Vectors:
    """Vectors of length 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.float32(1e-12))


def small_pixels(trim: bool, images: Sequence[Pixels], side: int = 32) -> Vectors:
    """The pixels of prepared images, reduced and centred."""

    def compute(some: Sequence[Pixels]) -> Vectors:
        small = np.stack([prepared(image, trim, side) for image in some]).astype(np.float32)
        flat = small.reshape(len(small), -1)
        return flat - flat.mean(axis=1, keepdims=True)

    return remembered(("pixels", trim, side), images, compute)


def top_features(backbone: str, trim: bool, images: Sequence[Pixels]) -> Vectors:
    """The usual features of a backbone: the last layer, averaged over positions."""
    last = list(layer_slices(backbone).values())[-1]
    return features(backbone, images, trim)[:, last]


def make_method(name: str, query_set: QuerySet) -> Method:
    """A method by the name that the command line accepts, for the images of a set."""
    from benchmarks.photos.character_network import character_features, trained_weights
    from benchmarks.photos.layers import VARIANTS, LayerSum
    from benchmarks.photos.product import Product
    from benchmarks.photos.sift import Sift

    trim, drawn = query_set.trim, query_set.drawn
    if name in VARIANTS:
        return LayerSum(name, trim)
    lite0, mobilenet = (partial(top_features, net, trim) for net in ("efficientnet-lite0", "mobilenet-v1"))
    made: dict[str, Callable[[], Method]] = {
        "pixels": lambda: NearestNeighbours(partial(small_pixels, trim), 1),
        "sift": Sift,
        "nearest-mean-lite0": lambda: NearestMean(lite0),
        "k-nn-lite0": lambda: NearestNeighbours(lite0),
        "slda-lite0": lambda: SLDA(lite0),
        "ranpac-lite0": lambda: RanPAC(lite0),
        "nearest-mean-mobilenet": lambda: NearestMean(mobilenet),
        "k-nn-mobilenet": lambda: NearestNeighbours(mobilenet),
        "slda-mobilenet": lambda: SLDA(mobilenet),
        "ranpac-mobilenet": lambda: RanPAC(mobilenet),
        "character-network": lambda: NearestMean(character_features),
        "everlearn": lambda: Product(query_set.upright, trained_weights() if drawn else None),
        "everlearn-gradients": lambda: Product(query_set.upright, features="gradients"),
    }
    return made[name]()


OBJECT_METHODS = (
    "everlearn", "pixels", "sift", "nearest-mean-lite0", "k-nn-lite0", "slda-lite0", "ranpac-lite0",
    "nearest-mean-mobilenet", "k-nn-mobilenet", "slda-mobilenet", "ranpac-mobilenet",
)  # fmt: skip
METHODS = (*OBJECT_METHODS, "character-network", "everlearn-gradients")
