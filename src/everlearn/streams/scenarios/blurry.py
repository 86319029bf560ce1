"""Si-Blurry: some classes keep to their task, some of the images of the others stray.

After Moon et al., "Online Class Incremental Learning on Stochastic Blurry Task Boundary via Mask and
Visual Prompt Tuning" (ICCV 2023), made endless by playing it in blocks.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import floor

import numpy as np

from everlearn.rng import IntArray, Rng, rng_at
from everlearn.streams.scenarios.base import Rows, Scenario, Seen
from everlearn.streams.source import Source


@dataclass(frozen=True)
class Block:
    """Which classes of a block are at home in which of its tasks."""

    disjoint: list[IntArray]
    blurry: list[IntArray]

    def home(self, t: int) -> IntArray:
        """The classes at home in task t of the block."""
        return np.sort(np.concatenate([self.disjoint[t], self.blurry[t]]))


class Blurry(Scenario):
    """Blocks of tasks within which boundaries are uneven and blurred; every image is used once.

    A block of T tasks has T x classes_per_task classes in random order. The disjoint ones number
    floor(disjoint_percent x classes / T) x T, all others are blurry, and each kind is cut into T parts
    at random points. Of all images of blurry classes floor(blurry_percent) stray: random cuts say how
    many each task gives away, they are pooled, mixed and handed back in the same numbers. Unlike the
    original, cuts are distinct, so no task is without a class. A task is tested on the classes at home
    in it. Classes that do not fill a last task are left out; a last block may be shorter.
    """

    def __init__(
        self,
        source: Source,
        *,
        classes_per_task: int,
        n_classes: int | None,
        block_tasks: int,
        disjoint_percent: float,
        blurry_percent: float,
        seed: int,
    ) -> None:
        super().__init__(source, seed=seed)
        self.n_tasks = None if n_classes is None else n_classes // classes_per_task
        self._each, self._length = classes_per_task, block_tasks
        self._disjoint_percent, self._blurry_percent = disjoint_percent, blurry_percent

    def home(self, k: int) -> IntArray:
        """The classes at home in task k: disjoint and blurry ones."""
        b, t = divmod(k, self._length)
        return self._block(b).home(t)

    def classes(self, k: int) -> IntArray:
        """The classes at home in task k, then those that stray into it."""
        home = self.home(k)
        return np.concatenate([home, np.setdiff1d(self.train(k).classes, home)])

    def train(self, k: int) -> Rows:
        """All of its disjoint classes, what its blurry classes keep, and the strays."""
        b, t = divmod(k, self._length)
        block = self._block(b)
        own, strays = self._blur(b, block)
        parts = [Rows.pools(self.source, block.disjoint[t], "train"), own[t], strays[t]]
        return Rows.concatenate(parts).shuffled(self.seed, "order", k)

    def seen(self, n_tasks: int) -> Seen:
        """The classes of whole blocks, and those of the tasks of a block that is not over."""
        b, t = divmod(n_tasks, self._length)
        n_first = b * self._length * self._each
        if t == 0:
            return Seen(n_first)
        block = self._block(b)
        return Seen(n_first, np.concatenate([block.home(i) for i in range(t)]))

    def home_task(self, classes: IntArray) -> IntArray:
        """The task of its block in which each class is at home."""
        tasks: dict[int, int] = {}
        for b in np.unique(classes // (self._length * self._each)).tolist():
            block = self._block(b)
            for t in range(len(block.disjoint)):
                tasks |= dict.fromkeys(block.home(t).tolist(), b * self._length + t)
        return np.array([tasks[c] for c in classes.tolist()], np.int64)

    def _block(self, b: int) -> Block:
        start = b * self._length
        n_tasks = self._length if self.n_tasks is None else min(self._length, self.n_tasks - start)
        n = n_tasks * self._each
        rng = rng_at(self.seed, "block", b)
        order = start * self._each + rng.permutation(n)
        n_disjoint = floor(self._disjoint_percent * n / (100 * n_tasks)) * n_tasks
        return Block(_cut(order[:n_disjoint], n_tasks, rng), _cut(order[n_disjoint:], n_tasks, rng))

    def _blur(self, b: int, block: Block) -> tuple[list[Rows], list[Rows]]:
        """What each task of a block keeps of its blurry classes, and what strays into it."""
        rng = rng_at(self.seed, "strays", b)
        rows = [Rows.pools(self.source, classes, "train") for classes in block.blurry]
        rows = [part[rng.permutation(len(part))] for part in rows]
        room = [len(part) for part in rows]
        given = _random_counts(floor(self._blurry_percent * sum(room) / 100), room, rng)
        pool = Rows.concatenate(part[:n] for part, n in zip(rows, given, strict=True))
        pool = pool[rng.permutation(len(pool))]
        ends = np.cumsum([0, *given])
        strays = [pool[a:b] for a, b in pairwise(ends)]
        return [part[n:] for part, n in zip(rows, given, strict=True)], strays


def _cut(classes: IntArray, n_parts: int, rng: Rng) -> list[IntArray]:
    """Consecutive parts of random size, none of them empty unless all are."""
    if not len(classes):
        return [classes] * n_parts
    points = np.sort(rng.permutation(len(classes) - 1)[: n_parts - 1]) + 1
    return np.split(classes, points)


def _random_counts(total: int, room: list[int], rng: Rng) -> list[int]:
    """Counts between random cuts of 0..total, what exceeds a task's room being moved to the next."""
    points = np.sort(rng.integers(len(room) - 1, total + 1))
    counts: list[int] = np.diff(points, prepend=0, append=total).tolist()
    over = 0
    for i in [*range(len(room)), *range(len(room))]:
        wanted = counts[i] + over
        counts[i] = min(wanted, room[i])
        over = wanted - counts[i]
    return counts
