"""Triplets and analogies of images that differ in known factors, for research on disentanglement."""

from dataclasses import dataclass

import numpy as np

from everlearn.errors import check_range
from everlearn.factors.factors import ALL_FACTORS
from everlearn.rng import FloatArray, IntArray, Rng, rng_at
from everlearn.streams.sprite_stream import SpriteSettings, SpriteSource
from everlearn.streams.stream import Batch

FACTORS = ALL_FACTORS


@dataclass(frozen=True)
class Triplets:
    """Three images of the same shape per row.

    `near` differs from the reference in one factor, whose index in `FACTORS` is `changed`; `far` differs in
    every factor that varies.
    """

    reference: Batch
    near: Batch
    far: Batch
    changed: IntArray


@dataclass(frozen=True)
class Analogies:
    """Four images per row: a is to b as c is to d.

    From a to b one factor changes, whose index in `FACTORS` is `changed`. c is another shape in another pose
    with the same value of that factor as a, and changes to d in the same way.
    """

    a: Batch
    b: Batch
    c: Batch
    d: Batch
    changed: IntArray


class PairSampler:
    """Batches of triplets and analogies of sprites; batch k is a pure function of the settings and k.

    Factors are sampled from the whole space; held-out combinations are not excluded.

    Example:
        >>> pairs = PairSampler(SpriteSettings(image_size=16), n_shapes=50)
        >>> triplets = pairs.triplets(7, size=4)
        >>> triplets.near.images.shape, [FACTORS[i] for i in triplets.changed]
        ((4, 16, 16), ['scale', 'y', 'y', 'angle'])
    """

    def __init__(self, settings: SpriteSettings | None = None, *, n_shapes: int = 1000) -> None:
        self._settings = settings or SpriteSettings()
        check_range("n_shapes", n_shapes, 2, 2**40)
        self._source, self._n_shapes = SpriteSource(self._settings), n_shapes
        self._space = self._settings.poses().space
        # Settings require at least three poses, so at least one factor varies.
        self._varying = np.flatnonzero([axis.varies for axis in self._space.axes])

    def triplets(self, k: int, size: int = 64) -> Triplets:
        """Batch k of triplets."""
        rng = self._rng("triplets", k, size)
        shapes, changed = rng.integers(size, self._n_shapes), self._changed(rng, size)
        pose = self._pose(rng, size)
        other = self._different(pose, rng)
        return Triplets(
            reference=self._render(shapes, pose),
            near=self._render(shapes, _replace(pose, other, changed)),
            far=self._render(shapes, other),
            changed=changed,
        )

    def analogies(self, k: int, size: int = 64) -> Analogies:
        """Batch k of analogies."""
        rng = self._rng("analogies", k, size)
        first, changed = rng.integers(size, self._n_shapes), self._changed(rng, size)
        second = (first + 1 + rng.integers(size, self._n_shapes - 1)) % self._n_shapes
        a = self._pose(rng, size)
        other = self._different(a, rng)
        c = _replace(self._pose(rng, size), a, changed)
        return Analogies(
            a=self._render(first, a),
            b=self._render(first, _replace(a, other, changed)),
            c=self._render(second, c),
            d=self._render(second, _replace(c, other, changed)),
            changed=changed,
        )

    def _rng(self, purpose: str, k: int, size: int) -> Rng:
        check_range("size", size, 1, 10**6)
        check_range("k", k, 0, 2**63 - 1)
        return rng_at(self._settings.seed, purpose, k)

    def _changed(self, rng: Rng, size: int) -> IntArray:
        return self._varying[rng.integers(size, len(self._varying))]

    def _pose(self, rng: Rng, size: int) -> FloatArray:
        """Quantiles (size, 5) of all factors."""
        return rng.uniform(size * len(self._space.axes)).reshape(size, -1)

    def _different(self, pose: FloatArray, rng: Rng) -> FloatArray:
        """Quantiles of other values of all factors that vary."""
        steps = self._pose(rng, len(pose))
        axes = enumerate(self._space.axes)
        return np.stack([axis.different(pose[:, i], steps[:, i]) for i, axis in axes], axis=1)

    def _render(self, shapes: IntArray, pose: FloatArray) -> Batch:
        factors = self._space.sample(pose)
        return Batch(self._source.render(shapes, factors), shapes, factors)


def _replace(pose: FloatArray, other: FloatArray, changed: IntArray) -> FloatArray:
    """The pose with the changed factor of each row replaced by that of another pose."""
    mixed = pose.copy()
    rows = np.arange(len(pose))
    mixed[rows, changed] = other[rows, changed]
    return mixed
