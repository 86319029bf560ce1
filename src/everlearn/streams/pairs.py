"""Images that differ in known ways: triplets and analogies, for learning and testing disentanglement."""

from dataclasses import dataclass

import numpy as np

from everlearn.errors import check_range
from everlearn.factors import FACTOR_NAMES
from everlearn.rng import FloatArray, IntArray, Rng, rng_at
from everlearn.streams.sprites import SpriteSettings, SpriteSource
from everlearn.streams.stream import Batch

CHANGEABLE = (*FACTOR_NAMES, "colour")


@dataclass(frozen=True)
class Triplets:
    """Rows of three images of one shape.

    Attributes:
        anchor: any pose.
        near: the same pose but for one factor.
        far: a pose that differs in every factor that varies at all.
        changed: which factor differs between anchor and near, as a number in `CHANGEABLE`.
    """

    anchor: Batch
    near: Batch
    far: Batch
    changed: IntArray


@dataclass(frozen=True)
class Analogies:
    """Rows of four images: a is to b as c is to d.

    Attributes:
        a: a shape in any pose.
        b: the same, with one factor changed.
        c: another shape, in another pose, but with the same value of that factor as a.
        d: the same, with that factor changed as from a to b.
        changed: which factor changes, as a number in `CHANGEABLE`.
    """

    a: Batch
    b: Batch
    c: Batch
    d: Batch
    changed: IntArray


class PairSampler:
    """Batches of related images by number: batch k is pure, and the same for everybody.

    Factors come from the whole space of the settings; what a stream holds out is not held out here.

    Args:
        settings: shapes, factors and looks, as for a stream of sprites.
        n_shapes: how many shapes take part.

    Example:
        >>> relations = PairSampler(SpriteSettings(image_size=16), n_shapes=50)
        >>> triplets = relations.triplets(7, size=4)
        >>> triplets.near.images.shape, [CHANGEABLE[i] for i in triplets.changed]
        ((4, 16, 16), ['scale', 'y', 'y', 'angle'])
    """

    def __init__(self, settings: SpriteSettings | None = None, *, n_shapes: int = 1000) -> None:
        self._settings = settings or SpriteSettings()
        check_range("n_shapes", n_shapes, 2, 2**40)
        self._source, self._n_shapes = SpriteSource(self._settings), n_shapes
        self._space = self._settings.poses().space
        # Settings allow no stream of a single pose, so something varies.
        self._varying = np.flatnonzero([axis.varies for axis in self._space.axes])

    def triplets(self, k: int, size: int = 64) -> Triplets:
        """Batch k of triplets."""
        rng = self._rng("triplets", k, size)
        shapes, changed = rng.integers(size, self._n_shapes), self._changes(rng, size)
        pose = self._pose(rng, size)
        other = self._elsewhere(pose, rng)
        return Triplets(
            anchor=self._show(shapes, pose),
            near=self._show(shapes, _with(pose, other, changed)),
            far=self._show(shapes, other),
            changed=changed,
        )

    def analogies(self, k: int, size: int = 64) -> Analogies:
        """Batch k of analogies."""
        rng = self._rng("analogies", k, size)
        first, changed = rng.integers(size, self._n_shapes), self._changes(rng, size)
        second = (first + 1 + rng.integers(size, self._n_shapes - 1)) % self._n_shapes
        a = self._pose(rng, size)
        other = self._elsewhere(a, rng)
        c = _with(self._pose(rng, size), a, changed)
        return Analogies(
            a=self._show(first, a),
            b=self._show(first, _with(a, other, changed)),
            c=self._show(second, c),
            d=self._show(second, _with(c, other, changed)),
            changed=changed,
        )

    def _rng(self, purpose: str, k: int, size: int) -> Rng:
        check_range("size", size, 1, 10**6)
        check_range("batch number", k, 0, 2**63 - 1)
        return rng_at(self._settings.seed, purpose, k)

    def _changes(self, rng: Rng, size: int) -> IntArray:
        return self._varying[rng.integers(size, len(self._varying))]

    def _pose(self, rng: Rng, size: int) -> FloatArray:
        return rng.uniform(size * len(self._space.axes)).reshape(size, -1)

    def _elsewhere(self, pose: FloatArray, rng: Rng) -> FloatArray:
        """Fractions that give another value on every axis that has one."""
        jumps = self._pose(rng, len(pose))
        axes = enumerate(self._space.axes)
        return np.stack([axis.different(pose[:, i], jumps[:, i]) for i, axis in axes], axis=1)

    def _show(self, shapes: IntArray, units: FloatArray) -> Batch:
        factors = self._space.sample(units)
        return Batch(self._source.show(shapes, factors), shapes, factors)


def _with(units: FloatArray, other: FloatArray, changed: IntArray) -> FloatArray:
    """The fractions, but in each row the changed factor as in the other."""
    mixed = units.copy()
    rows = np.arange(len(units))
    mixed[rows, changed] = other[rows, changed]
    return mixed
