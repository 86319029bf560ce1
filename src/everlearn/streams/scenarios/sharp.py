"""Every task brings new classes, all at once."""

from dataclasses import dataclass

import numpy as np

from everlearn.chance import IntArray
from everlearn.streams.scenarios.scenario import Labelling, Rows, Scenario, Seen
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
    """Task k holds all pictures of set k of the classes, and nothing else."""

    classes_return = False

    def __init__(self, source: Source, *, sets: ClassSets, labelling: Labelling, seed: int) -> None:
        super().__init__(source, labelling=labelling, seed=seed)
        self.sets = sets
        self.n_tasks = sets.n_sets

    def home(self, k: int) -> IntArray:
        """Set k of the classes."""
        return self.sets.members(k)

    def train(self, k: int) -> Rows:
        """All training pictures of set k, mixed."""
        return Rows.pools(self.source, self.home(k), "train").shuffled(self.seed, "order", k)

    def seen(self, n_tasks: int) -> Seen:
        """All sets before set n."""
        return Seen(self.sets.start(n_tasks))

    def home_task(self, classes: IntArray) -> IntArray:
        """The number of the set is the number of the task."""
        return self.sets.number(classes)
