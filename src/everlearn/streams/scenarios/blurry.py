"""Si-Blurry: disjoint classes, and blurry classes that share samples between tasks.

Moon et al., "Online Class Incremental Learning on Stochastic Blurry Task Boundary via Mask and Visual Prompt
Tuning" (ICCV 2023), made infinite by repeating it in blocks of tasks.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import NamedTuple

import numpy as np

from everlearn.rng import IntArray, Rng, rng_at
from everlearn.streams.scenarios.base import SampleIndex, Scenario, SeenClasses


class TaskBlock(NamedTuple):
    """The disjoint and the blurry classes of each task of a block."""

    disjoint: list[IntArray]
    blurry: list[IntArray]

    def classes(self, t: int) -> IntArray:
        """The classes of task t of the block."""
        return np.sort(np.concatenate([self.disjoint[t], self.blurry[t]]))


@dataclass(kw_only=True, eq=False)
class Blurry(Scenario):
    """Blocks of tasks with stochastic, blurry boundaries; every image is used once.

    A block of T tasks has T x classes_per_task classes in random order. A part of them, disjoint_percent, is
    disjoint and the others blurry; both kinds are partitioned at random points, all distinct, so that every
    task has a class. blurry_percent of all images of blurry classes are exchanged: random cuts determine how
    many each task contributes to a pool, which is shuffled and distributed in the same numbers. A task is
    tested on its own classes. Classes that do not fill a last task are left out; a last block may be shorter.
    """

    classes_per_task: int
    n_classes: int | None
    block_tasks: int
    disjoint_percent: float
    blurry_percent: float

    @property
    def n_tasks(self) -> int | None:
        return None if self.n_classes is None else self.n_classes // self.classes_per_task

    def test_classes(self, k: int) -> IntArray:
        b, t = divmod(k, self.block_tasks)
        return self._block(b).classes(t)

    def classes(self, k: int) -> IntArray:
        own = self.test_classes(k)
        return np.concatenate([own, np.setdiff1d(self.train_samples(k).class_ids, own)])

    def train_samples(self, k: int) -> SampleIndex:
        b, t = divmod(k, self.block_tasks)
        block = self._block(b)
        kept, received = self._exchange(b, block)
        disjoint = SampleIndex.of_split(self.source, block.disjoint[t], "train")
        return SampleIndex.concatenate([disjoint, kept[t], received[t]]).shuffled(self.seed, "order", k)

    def seen_classes(self, n_tasks: int) -> SeenClasses:
        b, t = divmod(n_tasks, self.block_tasks)
        n_first = b * self.block_tasks * self.classes_per_task
        if t == 0:
            return SeenClasses(n_first)
        return SeenClasses(n_first, np.concatenate([self._block(b).classes(i) for i in range(t)]))

    def first_test_task(self, classes: IntArray) -> IntArray:
        tasks: dict[int, int] = {}
        for b in np.unique(classes // (self.block_tasks * self.classes_per_task)).tolist():
            block = self._block(b)
            for t in range(len(block.disjoint)):
                tasks |= dict.fromkeys(block.classes(t).tolist(), b * self.block_tasks + t)
        return np.array([tasks[c] for c in classes.tolist()], np.int64)

    def _block(self, b: int) -> TaskBlock:
        start = b * self.block_tasks
        n_tasks = self.block_tasks if self.n_tasks is None else min(self.block_tasks, self.n_tasks - start)
        n = n_tasks * self.classes_per_task
        rng = rng_at(self.seed, "block", b)
        order = start * self.classes_per_task + rng.permutation(n)
        n_disjoint = floor(self.disjoint_percent * n / (100 * n_tasks)) * n_tasks
        return TaskBlock(*(_partition(part, n_tasks, rng) for part in np.split(order, [n_disjoint])))

    def _exchange(self, b: int, block: TaskBlock) -> tuple[list[SampleIndex], list[SampleIndex]]:
        """The blurry samples that each task of a block keeps, and those it receives from others."""
        rng = rng_at(self.seed, "strays", b)
        samples = [SampleIndex.of_split(self.source, classes, "train") for classes in block.blurry]
        samples = [part[rng.permutation(len(part))] for part in samples]
        sizes = [len(part) for part in samples]
        counts = _random_counts(floor(self.blurry_percent * sum(sizes) / 100), sizes, rng)
        pool = SampleIndex.concatenate(part[:n] for part, n in zip(samples, counts, strict=True))
        pool = pool[rng.permutation(len(pool))]
        received = [pool[start:stop] for start, stop in pairwise(np.cumsum([0, *counts]))]
        return [part[n:] for part, n in zip(samples, counts, strict=True)], received


def _partition(classes: IntArray, n_parts: int, rng: Rng) -> list[IntArray]:
    """Consecutive parts of random size, none of them empty unless all are."""
    if not len(classes):
        return [classes] * n_parts
    points = np.sort(rng.permutation(len(classes) - 1)[: n_parts - 1]) + 1
    return np.split(classes, points)


def _random_counts(total: int, limits: list[int], rng: Rng) -> list[int]:
    """Counts between random cuts of 0..total; a count above the limit of a task carries over to the next."""
    points = np.sort(rng.integers(len(limits) - 1, total + 1))
    counts: list[int] = np.diff(points, prepend=0, append=total).tolist()
    excess = 0
    for i in [*range(len(limits)), *range(len(limits))]:
        count = counts[i] + excess
        counts[i] = min(count, limits[i])
        excess = count - counts[i]
    return counts
