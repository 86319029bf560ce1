"""The base class of scenarios, and the index arrays that they return."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.source import Source
from everlearn.streams.stream import Split


@dataclass(frozen=True, eq=False)
class SampleIndex:
    """Samples of a source: the class and the image of each."""

    class_ids: IntArray
    image_ids: IntArray

    def __len__(self) -> int:
        return len(self.class_ids)

    def __getitem__(self, which: IntArray | slice) -> "SampleIndex":
        return SampleIndex(self.class_ids[which], self.image_ids[which])

    def shuffled(self, seed: int, purpose: str, *address: int) -> "SampleIndex":
        """The samples in a random order that depends only on seed, purpose and address."""
        return self[rng_at(seed, purpose, *address).permutation(len(self))]

    @classmethod
    def of_class(cls, class_id: int, image_ids: IntArray) -> "SampleIndex":
        """Images of one class."""
        return cls(np.full(len(image_ids), class_id, dtype=np.int64), image_ids)

    @classmethod
    def concatenate(cls, parts: Iterable["SampleIndex"]) -> "SampleIndex":
        """Several lists of samples in order."""
        pairs = [(np.zeros(0, np.int64),) * 2, *((part.class_ids, part.image_ids) for part in parts)]
        class_ids, image_ids = map(np.concatenate, zip(*pairs, strict=True))
        return cls(class_ids, image_ids)

    @classmethod
    def of_split(cls, source: Source, classes: IntArray, split: Split) -> "SampleIndex":
        """All images of some classes in a split."""
        return cls.concatenate(cls.of_class(int(c), source.pool(int(c), split)) for c in classes)


@dataclass(frozen=True, eq=False)
class SeenClasses:
    """The classes of the first tasks of a stream: 0 to n_first - 1, and some others."""

    n_first: int
    others: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return self.n_first + len(self.others)

    def take(self, indices: IntArray) -> IntArray:
        """Classes by index, 0 to len - 1."""
        return np.array([i if i < self.n_first else self.others[i - self.n_first] for i in indices], np.int64)


@dataclass(frozen=True)
class LabelMap:
    """The labels of classes: from a table, or class ids, modulo `modulus` if it is given.

    With `with_task_ids` images have task ids, also at test time.
    """

    modulus: int | None = None
    with_task_ids: bool = False
    table: tuple[int, ...] = ()

    def labels(self, classes: IntArray) -> IntArray:
        """The labels of classes."""
        if self.table:
            return np.array(self.table, np.int64)[classes]
        return classes if self.modulus is None else classes % self.modulus


@dataclass(kw_only=True, eq=False)
class Scenario(ABC):
    """The samples of each task; pure, and its cost does not depend on the task.

    Of an `ordered` scenario, the order of the training samples is part of the stream.
    """

    source: Source
    seed: int
    label_map: LabelMap = LabelMap()
    ordered: ClassVar[bool] = False
    classes_recur: ClassVar[bool] = True

    @property
    @abstractmethod
    def n_tasks(self) -> int | None:
        """The number of tasks; None if infinite."""

    @abstractmethod
    def test_classes(self, k: int) -> IntArray:
        """The classes that task k is tested on."""

    @abstractmethod
    def train_samples(self, k: int) -> SampleIndex:
        """The training samples of task k, in the order of the stream."""

    @abstractmethod
    def seen_classes(self, n_tasks: int) -> SeenClasses:
        """The classes that the first n tasks are tested on."""

    @abstractmethod
    def first_test_task(self, classes: IntArray) -> IntArray:
        """The first task that is tested on each of these classes."""

    def classes(self, k: int) -> IntArray:
        """All classes with training samples in task k, the test classes first."""
        return self.test_classes(k)

    def name(self, k: int) -> str:
        """The name of task k for display; may be empty."""
        return ""

    def samples(self, k: int, split: Split) -> SampleIndex:
        """The samples of one split of task k."""
        if split == "train":
            return self.train_samples(k)
        return SampleIndex.of_split(self.source, self.test_classes(k), split)
