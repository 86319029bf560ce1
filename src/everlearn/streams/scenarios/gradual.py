"""One task fades into the next."""

import numpy as np

from everlearn.chance import IntArray, draws
from everlearn.streams.scenarios.scenario import Rows
from everlearn.streams.scenarios.sharp import Sharp


class Gradual(Sharp):
    """Through task k the share of set k's classes falls from 1 to 0 while that of set k + 1 rises.

    Half of a class's pictures come while its set rises, half while it falls, so every picture is used
    once. What should have risen before the beginning comes first of all; after the last set of a stream
    with an end nothing rises. A task is tested on set k alone.
    """

    classes_return = True
    ordered = True

    def classes(self, k: int) -> IntArray:
        """Set k, then the rising set k + 1."""
        return np.concatenate([self.home(k), self._next(k)])

    def train(self, k: int) -> Rows:
        """The rows in order of time, from set k alone to set k + 1 alone."""
        rising, falling = self._halves(self._next(k))[0], self._halves(self.home(k))[1]
        before = self._halves(self.home(k))[0] if k == 0 else rising[:0]
        chance = draws(self.seed, "drift", k)
        # At time t in 0..1 the densities are 2t and 2(1 - t); before 0 they are even.
        rise = np.sqrt(chance.uniform(len(rising)))
        fall = 1.0 - np.sqrt(chance.uniform(len(falling)))
        times = np.concatenate([rise, fall, chance.uniform(len(before)) - 1.0])
        return Rows.concatenate([rising, falling, before])[np.argsort(times, kind="stable")]

    def _next(self, k: int) -> IntArray:
        return self.sets.members(k + 1)

    def _halves(self, classes: IntArray) -> tuple[Rows, Rows]:
        pools = [(int(c), self.source.pool(int(c), "train")) for c in classes]
        first = Rows.concatenate(Rows.of_class(c, pool[: len(pool) // 2]) for c, pool in pools)
        return first, Rows.concatenate(Rows.of_class(c, pool[len(pool) // 2 :]) for c, pool in pools)
