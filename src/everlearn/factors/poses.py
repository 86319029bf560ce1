"""The poses in which each class is shown, with a held-out split."""

from collections.abc import Mapping

import numpy as np

from everlearn.errors import BadInput, check_range, is_integer
from everlearn.factors.factors import Factors
from everlearn.factors.space import Box, FactorSpace
from everlearn.rng import IntArray, rng_at

DEFAULT_N_POSES = 625


class Poses:
    """A fixed number of poses per class; sorted indices of some are `held_out`, the others `not_held_out`.

    If every factor has discrete values, a pose is a combination of them, the same for all classes. If a
    factor is a range, n poses (default: 625) are sampled for each class.

    `held_out` is a number of combinations, or a box of factor values. Only a box can be held out of sampled
    poses: as many of them as its share of the space, at least one.

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
        if n is not None:
            check_range("n", n, 1, 10**9)
        self.space, self._seed = space, seed
        self._n = space.size or n or DEFAULT_N_POSES
        self.held_out = self._select(held_out)
        if len(self.held_out) >= self._n:
            raise BadInput(f"held_out takes all {self._n} poses; leave some for training")
        self.not_held_out = np.setdiff1d(np.arange(self._n), self.held_out)
        self._inside, self._outside = space, [(1.0, space)]
        if isinstance(held_out, Mapping):
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

    def _select(self, held_out: int | Box) -> IntArray:
        """The indices of the held-out poses."""
        if not isinstance(held_out, Mapping):
            if not is_integer(held_out):
                raise BadInput(f"held_out is {held_out!r}; give a number of poses or a box of factor values")
            check_range("held_out", held_out, 0, self._n - 1)
            if held_out and self.space.size is None:
                raise BadInput(f"held_out is {held_out}, but a range cannot be counted; give a box of values")
            return np.sort(rng_at(self._seed, "held out").permutation(self._n)[:held_out])
        fraction = self.space.fraction(held_out)
        if not 0 < fraction < 1:
            part = "nothing" if fraction == 0 else "everything"
            raise BadInput(
                f"the held_out box {dict(held_out)} contains {part}; give one that contains a part"
            )
        if self.space.size is not None:
            return self.space.indices_inside(held_out)
        return np.arange(max(1, round(fraction * self._n)))

    def _sample(self, class_id: int, indices: IntArray) -> Factors:
        n_values = len(self.space.axes) + 1
        units = rng_at(self._seed, "poses", class_id).uniform(self._n * n_values)
        units = units.reshape(-1, n_values)[indices]
        ends = np.cumsum([fraction for fraction, _ in self._outside])
        part = np.minimum(np.searchsorted(ends, units[:, 0] * ends[-1], side="right"), len(ends) - 1)
        spaces = [*(space for _, space in self._outside), self._inside]
        part[indices < len(self.held_out)] = len(spaces) - 1
        factors = Factors.concatenate([space.sample(units[:, 1:]) for space in spaces])
        return factors[part * len(units) + np.arange(len(units))]
