"""Class-incremental scenarios: disjoint sets of classes, with sharp, gradual or recurring task boundaries."""

from dataclasses import dataclass

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.scenarios.base import SampleIndex, Scenario, SeenClasses


@dataclass(frozen=True)
class ClassSets:
    """The classes 0, 1, 2, ... in a first set and further sets of equal size; the last may be smaller."""

    first: int
    each: int
    n_classes: int | None

    @property
    def n_sets(self) -> int | None:
        """The number of sets; None if infinite."""
        n = self.n_classes
        return None if n is None else 1 + max(0, -(-(n - self.first) // self.each))

    def start(self, s: int) -> int:
        """The first class of set s."""
        start = self.first + (s - 1) * self.each if s else 0
        return start if self.n_classes is None else min(start, self.n_classes)

    def classes(self, s: int) -> IntArray:
        """The classes of set s."""
        return np.arange(self.start(s), self.start(s + 1))

    def set_of(self, classes: IntArray) -> IntArray:
        """The set of each class."""
        return np.where(classes < self.first, 0, 1 + (classes - self.first) // self.each)


@dataclass(kw_only=True, eq=False)
class ClassIncremental(Scenario):
    """Task k has all images of the k-th set of classes."""

    classes_recur = False
    sets: ClassSets

    @property
    def n_tasks(self) -> int | None:
        return self.sets.n_sets

    def test_classes(self, k: int) -> IntArray:
        return self.sets.classes(k)

    def train_samples(self, k: int) -> SampleIndex:
        samples = SampleIndex.of_split(self.source, self.test_classes(k), "train")
        return samples.shuffled(self.seed, "order", k)

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        return SeenClasses(self.sets.start(n_tasks))

    def first_test_task(self, classes: IntArray) -> IntArray:
        return self.sets.set_of(classes)


class GradualClassIncremental(ClassIncremental):
    """Within task k the proportion of set k falls from 1 to 0 while that of set k + 1 rises.

    Half of the images of a class occur while its set rises, half while it falls. The rising half of set 0
    comes at the beginning of task 0; the last task has no rising set. Task k is tested on set k.
    """

    classes_recur = True
    ordered = True

    def classes(self, k: int) -> IntArray:
        return np.concatenate([self.test_classes(k), self.sets.classes(k + 1)])

    def train_samples(self, k: int) -> SampleIndex:
        rising, falling = self._halves(self.sets.classes(k + 1))[0], self._halves(self.test_classes(k))[1]
        before = self._halves(self.test_classes(k))[0] if k == 0 else rising[:0]
        rng = rng_at(self.seed, "drift", k)
        # At time t in 0..1 the densities are 2t and 2(1 - t); before 0 they are uniform.
        rise = np.sqrt(rng.uniform(len(rising)))
        fall = 1.0 - np.sqrt(rng.uniform(len(falling)))
        times = np.concatenate([rise, fall, rng.uniform(len(before)) - 1.0])
        return SampleIndex.concatenate([rising, falling, before])[np.argsort(times, kind="stable")]

    def _halves(self, classes: IntArray) -> list[SampleIndex]:
        pools = [(int(c), self.source.pool(int(c), "train")) for c in classes]
        halves = [[SampleIndex.of_class(c, p) for p in np.split(pool, [len(pool) // 2])] for c, pool in pools]
        return [SampleIndex.concatenate(pair[i] for pair in halves) for i in range(2)]


@dataclass(kw_only=True, eq=False)
class RecurringClassIncremental(ClassIncremental):
    """Every `every`-th task repeats an earlier set of classes, selected at random.

    With every = 3 the sets are 0, 1, (0 or 1), 2, 3, (one of 0..3), 4, ...
    """

    classes_recur = True
    every: int

    @property
    def n_tasks(self) -> int | None:
        last = self.sets.n_classes
        return None if last is None else int(self.first_test_task(np.array([last - 1]))[0]) + 1

    def set_index(self, k: int) -> int:
        """The set of classes of task k."""
        n_before = k - k // self.every
        is_repetition = (k + 1) % self.every == 0
        return int(rng_at(self.seed, "return", k).integers(1, n_before)[0]) if is_repetition else n_before

    def test_classes(self, k: int) -> IntArray:
        return self.sets.classes(self.set_index(k))

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        return SeenClasses(self.sets.start(n_tasks - n_tasks // self.every))

    def first_test_task(self, classes: IntArray) -> IntArray:
        sets = self.sets.set_of(classes)
        return np.asarray(sets + sets // (self.every - 1))
