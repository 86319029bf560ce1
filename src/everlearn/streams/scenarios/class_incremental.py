"""Old tasks come back."""

from dataclasses import dataclass

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import Labelling, Rows, Scenario, Seen
from everlearn.streams.source import Source


@dataclass(frozen=True)
class ClassSets:
    """The classes 0, 1, 2, ... cut into a first set and equal sets after it; the last may be smaller.

    Example:
        >>> sets = ClassSets(first=4, each=2, n_classes=9)
        >>> sets.n_sets, sets.members(0), sets.members(3)
        (4, array([0, 1, 2, 3]), array([8]))
    """

    first: int
    each: int
    n_classes: int | None

    @property
    def n_sets(self) -> int | None:
        """How many sets there are; None means endless."""
        if self.n_classes is None:
            return None
        return 1 + max(0, -(-(self.n_classes - self.first) // self.each))

    def start(self, s: int) -> int:
        """The first class of set s, which is also the number of classes in all sets before it."""
        start = self.first + (s - 1) * self.each if s else 0
        return start if self.n_classes is None else min(start, self.n_classes)

    def members(self, s: int) -> IntArray:
        """The classes of set s."""
        return np.arange(self.start(s), self.start(s + 1))

    def number(self, classes: IntArray) -> IntArray:
        """The set of each of these classes."""
        return np.where(classes < self.first, 0, 1 + (classes - self.first) // self.each)


class Sharp(Scenario):
    """Task k holds all images of set k of the classes, and nothing else."""

    classes_recur = False

    def __init__(self, source: Source, *, sets: ClassSets, labelling: Labelling, seed: int) -> None:
        super().__init__(source, labelling=labelling, seed=seed)
        self.sets = sets
        self.n_tasks = sets.n_sets

    def home(self, k: int) -> IntArray:
        """Set k of the classes."""
        return self.sets.members(k)

    def train(self, k: int) -> Rows:
        """All training images of set k, mixed."""
        return Rows.pools(self.source, self.home(k), "train").shuffled(self.seed, "order", k)

    def seen(self, n_tasks: int) -> Seen:
        """All sets before set n."""
        return Seen(self.sets.start(n_tasks))

    def home_task(self, classes: IntArray) -> IntArray:
        """The number of the set is the number of the task."""
        return self.sets.number(classes)


class Gradual(Sharp):
    """Through task k the share of set k's classes falls from 1 to 0 while that of set k + 1 rises.

    Half of a class's images come while its set rises, half while it falls, so every image is used
    once. What should have risen before the beginning comes first of all; after the last set of a stream
    with an end nothing rises. A task is tested on set k alone.
    """

    classes_recur = True
    ordered = True

    def classes(self, k: int) -> IntArray:
        """Set k, then the rising set k + 1."""
        return np.concatenate([self.home(k), self._next(k)])

    def train(self, k: int) -> Rows:
        """The rows in order of time, from set k alone to set k + 1 alone."""
        rising, falling = self._halves(self._next(k))[0], self._halves(self.home(k))[1]
        before = self._halves(self.home(k))[0] if k == 0 else rising[:0]
        rng = rng_at(self.seed, "drift", k)
        # At time t in 0..1 the densities are 2t and 2(1 - t); before 0 they are even.
        rise = np.sqrt(rng.uniform(len(rising)))
        fall = 1.0 - np.sqrt(rng.uniform(len(falling)))
        times = np.concatenate([rise, fall, rng.uniform(len(before)) - 1.0])
        return Rows.concatenate([rising, falling, before])[np.argsort(times, kind="stable")]

    def _next(self, k: int) -> IntArray:
        return self.sets.members(k + 1)

    def _halves(self, classes: IntArray) -> tuple[Rows, Rows]:
        pools = [(int(c), self.source.pool(int(c), "train")) for c in classes]
        first = Rows.concatenate(Rows.of_class(c, pool[: len(pool) // 2]) for c, pool in pools)
        return first, Rows.concatenate(Rows.of_class(c, pool[len(pool) // 2 :]) for c, pool in pools)


class Recurring(Sharp):
    """Every `every`-th task shows an earlier set of classes again, chosen by the seed.

    With every = 3 the sets are 0, 1, (0 or 1), 2, 3, (one of 0..3), 4, ...: among the first n tasks
    n // every are returns, so set and task number follow from one another without counting.
    """

    classes_recur = True

    def __init__(
        self, source: Source, *, sets: ClassSets, every: int, labelling: Labelling, seed: int
    ) -> None:
        super().__init__(source, sets=sets, labelling=labelling, seed=seed)
        self.every = every
        if sets.n_classes is not None:
            self.n_tasks = int(self.home_task(np.array([sets.n_classes - 1]))[0]) + 1

    def set_at(self, k: int) -> int:
        """Which set of classes task k shows."""
        n_before = k - k // self.every
        returns = (k + 1) % self.every == 0
        return int(rng_at(self.seed, "return", k).integers(1, n_before)[0]) if returns else n_before

    def home(self, k: int) -> IntArray:
        """The set of task k, new or returning."""
        return self.sets.members(self.set_at(k))

    def seen(self, n_tasks: int) -> Seen:
        """All sets that have come at least once."""
        return Seen(self.sets.start(n_tasks - n_tasks // self.every))

    def home_task(self, classes: IntArray) -> IntArray:
        """The task in which the set of each class came first."""
        sets = self.sets.number(classes)
        return np.asarray(sets + sets // (self.every - 1))
