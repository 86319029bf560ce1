"""The base class of scenarios, and the index arrays that they return."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

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
        all_parts = [cls(np.zeros(0, np.int64), np.zeros(0, np.int64)), *parts]
        return cls(
            np.concatenate([part.class_ids for part in all_parts]),
            np.concatenate([part.image_ids for part in all_parts]),
        )

    @classmethod
    def of_split(cls, source: Source, classes: IntArray, split: Split) -> "SampleIndex":
        """All images of some classes in a split."""
        return cls.concatenate(cls.of_class(int(c), source.pool(int(c), split)) for c in classes)


@dataclass(frozen=True, eq=False)
class SeenClasses:
    """The classes of the first tasks of a stream: 0 to n_first - 1, and some others.

    Its size does not grow with the number of tasks.

    Example:
        >>> seen = SeenClasses(20, others=np.array([33, 27]))
        >>> len(seen), seen.take(np.array([0, 19, 20, 21]))
        (22, array([ 0, 19, 33, 27]))
    """

    n_first: int
    others: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return self.n_first + len(self.others)

    def take(self, indices: IntArray) -> IntArray:
        """Classes by index, 0 to len - 1."""
        classes = indices.astype(np.int64, copy=True)
        is_other = indices >= self.n_first
        classes[is_other] = self.others[indices[is_other] - self.n_first]
        return classes


@dataclass(frozen=True)
class LabelMap:
    """The labels of classes.

    Attributes:
        modulus: labels are class ids modulo this number; None for one label per class.
        with_task_ids: images come with their task id, also at test time.
    """

    modulus: int | None = None
    with_task_ids: bool = False

    def labels(self, classes: IntArray) -> IntArray:
        """The labels of classes."""
        return classes if self.modulus is None else classes % self.modulus


ONE_LABEL_PER_CLASS = LabelMap()


class Scenario(ABC):
    """The samples of each task; pure, and its cost does not depend on the task.

    Attributes:
        n_tasks: number of tasks; None if infinite.
        label_map: the labels of classes.
        ordered: the order of the training samples is part of the stream.
        classes_recur: a class can occur in more than one task.
    """

    n_tasks: int | None
    ordered: bool = False
    classes_recur: bool = True

    def __init__(self, source: Source, *, seed: int, label_map: LabelMap = ONE_LABEL_PER_CLASS) -> None:
        self.source, self.seed, self.label_map = source, seed, label_map

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
