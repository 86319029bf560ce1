"""The poses in which each class is shown, with a held-out split."""

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors.factors import Factors
from everlearn.factors.space import Box, FactorSpace
from everlearn.rng import FloatArray, IntArray, rng_at

DEFAULT_N_POSES = 625


class Poses:
    """A fixed number of poses per class, some of them held out.

    If every factor has discrete values, a pose is a combination of them, the same for all classes. If a
    factor is a range, poses are sampled for each class, and only a box of values can be held out.

    Args:
        space: the values of each factor.
        seed: of sampled and held-out poses.
        n: poses per class if they are sampled; default: 625.
        held_out: a number of combinations, or a box of factor values, to hold out from training. Of sampled
            poses the box holds its fraction of the space, at least one.

    Attributes:
        held_out: indices of the held-out poses, sorted.
        not_held_out: indices of all other poses, sorted.

    Example:
        >>> poses = Poses(FactorSpace(scale=3, angle=4, x=1, y=1), seed=0, held_out={"scale": (1, 1)})
        >>> poses.held_out
        array([ 8,  9, 10, 11])
        >>> poses.factors([7], [3]).scale
        array([0.5])
    """

    def __init__(
        self, space: FactorSpace, *, seed: int, n: int | None = None, held_out: int | Box = 0
    ) -> None:
        if space.size is not None and n is not None:
            raise BadInput(
                f"every factor has discrete values, which makes {space.size} poses, not {n}; leave it out"
            )
        self.space, self._seed = space, seed
        self._n = space.size or n or DEFAULT_N_POSES
        self.held_out = self._select_held_out(held_out)
        self.not_held_out = np.setdiff1d(np.arange(self._n), self.held_out)
        self._inside, self._outside = space, [(1.0, space)]
        if not isinstance(held_out, int):
            self._inside, self._outside = space.inside(held_out), space.outside(held_out)

    def __len__(self) -> int:
        return self._n

    def factors(self, class_ids: IntArray | list[int], indices: IntArray | list[int]) -> Factors:
        """One pose per row: its index among the poses of its class."""
        class_ids, indices = np.asarray(class_ids, dtype=np.int64), np.asarray(indices, dtype=np.int64)
        if self.space.size is not None:
            return self.space.combination(indices)
        if not len(class_ids):
            return Factors.canonical(0)
        classes, group = np.unique(class_ids, return_inverse=True)
        order = np.argsort(group, kind="stable")
        by_class = np.split(indices[order], np.cumsum(np.bincount(group))[:-1])
        sampled = [self._sample(int(c), each) for c, each in zip(classes, by_class, strict=True)]
        return Factors.concatenate(sampled)[np.argsort(order, kind="stable")]

    def _select_held_out(self, held_out: int | Box) -> IntArray:
        selected = (
            self._held_out_count(held_out) if isinstance(held_out, int) else self._held_out_box(held_out)
        )
        if len(selected) >= self._n:
            raise BadInput(f"held_out takes all {self._n} poses; leave some for training")
        return selected

    def _held_out_count(self, count: int) -> IntArray:
        if not 0 <= count < self._n:
            raise BadInput(f"held_out is {count}; it must be from 0 to {self._n - 1}")
        if count and self.space.size is None:
            raise BadInput(f"held_out is {count}, but a range cannot be counted; give a box of values")
        return np.sort(rng_at(self._seed, "held out").permutation(self._n)[:count])

    def _held_out_box(self, box: Box) -> IntArray:
        fraction = self.space.fraction(box)
        if not 0 < fraction < 1:
            part = "nothing" if fraction == 0 else "everything"
            raise BadInput(f"the held_out box {dict(box)} contains {part}; give one that contains a part")
        if self.space.size is not None:
            return self.space.indices_inside(box)
        return np.arange(max(1, round(fraction * self._n)))

    def _sample(self, class_id: int, indices: IntArray) -> Factors:
        n_values = len(self.space.axes) + 1
        units = rng_at(self._seed, "poses", class_id).uniform(self._n * n_values)
        units = units.reshape(-1, n_values)[indices]
        part = self._outside_part(units[:, 0])
        spaces = [*(space for _, space in self._outside), self._inside]
        part[indices < len(self.held_out)] = len(spaces) - 1
        factors = Factors.concatenate([space.sample(units[:, 1:]) for space in spaces])
        return factors[part * len(units) + np.arange(len(units))]

    def _outside_part(self, units: FloatArray) -> IntArray:
        ends = np.cumsum([fraction for fraction, _ in self._outside])
        part = np.searchsorted(ends, units * ends[-1], side="right")
        return np.asarray(np.minimum(part, len(ends) - 1))
