"""The numbered poses in which every class is shown."""

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors.factors import Factors
from everlearn.factors.space import Box, FactorSpace
from everlearn.rng import FloatArray, IntArray, rng_at

POSES_OF_A_RANGE = 625


class Poses:
    """A fixed number of poses per class, some of them held out.

    Where every factor has single values, a pose is a combination, the same for every class. Where some
    factor is a range, every class draws its own poses, and only a box can be held out.

    Args:
        space: what each factor may be.
        seed: which poses are drawn, and which are held out.
        n: poses per class, needed only where they are drawn (625 if not said).
        held_out: how many combinations, or a box of factor values, to keep out of training. Of drawn
            poses, as many lie in the box as its share of the space says, and at least one.

    Attributes:
        held_out: the numbers of the poses that are held out, ascending.
        shown: the numbers of all others, ascending.

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
                f"every factor has single values, so there are {space.size} poses, not {n}; leave it out"
            )
        self.space, self._seed = space, seed
        self._n = space.size or n or POSES_OF_A_RANGE
        self.held_out = self._choose(held_out)
        self.shown = np.setdiff1d(np.arange(self._n), self.held_out)
        self._inside, self._around = space, [(1.0, space)]
        if not isinstance(held_out, int):
            self._inside, self._around = space.within(held_out), space.without(held_out)

    def __len__(self) -> int:
        return self._n

    def factors(self, classes: IntArray | list[int], numbers: IntArray | list[int]) -> Factors:
        """The pose with this number of this class, row by row."""
        classes, numbers = np.asarray(classes, dtype=np.int64), np.asarray(numbers, dtype=np.int64)
        if self.space.size is not None:
            return self.space.combination(numbers)
        if not len(classes):
            return Factors.canonical(0)
        owners, owner = np.unique(classes, return_inverse=True)
        order = np.argsort(owner, kind="stable")
        runs = np.split(numbers[order], np.cumsum(np.bincount(owner))[:-1])
        drawn = [self._drawn(int(c), run) for c, run in zip(owners, runs, strict=True)]
        return Factors.concatenate(drawn)[np.argsort(order, kind="stable")]

    def _choose(self, held_out: int | Box) -> IntArray:
        chosen = self._counted(held_out) if isinstance(held_out, int) else self._boxed(held_out)
        if len(chosen) >= self._n:
            raise BadInput(f"held_out takes all {self._n} poses; leave some to learn from")
        return chosen

    def _counted(self, count: int) -> IntArray:
        if not 0 <= count < self._n:
            raise BadInput(
                f"held_out is {count}; it must be from 0 to {self._n - 1}, one less than there are"
            )
        if count and self.space.size is None:
            raise BadInput(
                f"held_out is {count}, but a range has no combinations to count; give a box of values"
            )
        return np.sort(rng_at(self._seed, "held out").permutation(self._n)[:count])

    def _boxed(self, box: Box) -> IntArray:
        share = self.space.share(box)
        if not 0 < share < 1:
            word = "nothing" if share == 0 else "everything"
            raise BadInput(
                f"the held_out box {dict(box)} holds {word} of what is shown; give one that holds a part"
            )
        if self.space.size is not None:
            return self.space.numbers_within(box)
        return np.arange(max(1, round(share * self._n)))

    def _drawn(self, class_id: int, numbers: IntArray) -> Factors:
        n_draws = len(self.space.axes) + 1
        units = rng_at(self._seed, "poses", class_id).uniform(self._n * n_draws).reshape(-1, n_draws)[numbers]
        part = self._part(units[:, 0])
        spaces = [*(space for _, space in self._around), self._inside]
        part[numbers < len(self.held_out)] = len(spaces) - 1
        factors = Factors.concatenate([space.sample(units[:, 1:]) for space in spaces])
        return factors[part * len(units) + np.arange(len(units))]

    def _part(self, units: FloatArray) -> IntArray:
        shares = np.cumsum([share for share, _ in self._around])
        part = np.searchsorted(shares, units * shares[-1], side="right")
        return np.asarray(np.minimum(part, len(shares) - 1))
