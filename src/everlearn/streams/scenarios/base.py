"""The promise that every order of arrival keeps."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from everlearn.rng import IntArray, rng_at
from everlearn.streams.source import Source
from everlearn.streams.stream import Split


@dataclass(frozen=True, eq=False)
class Rows:
    """Which image of which class, row by row."""

    classes: IntArray
    images: IntArray

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, which: IntArray | slice) -> "Rows":
        return Rows(self.classes[which], self.images[which])

    def shuffled(self, seed: int, purpose: str, *address: int) -> "Rows":
        """The same rows in an order that depends only on seed, purpose and address."""
        return self[rng_at(seed, purpose, *address).permutation(len(self))]

    @classmethod
    def of_class(cls, class_id: int, images: IntArray) -> "Rows":
        """These images of one class."""
        return cls(np.full(len(images), class_id, dtype=np.int64), images)

    @classmethod
    def concatenate(cls, parts: Iterable["Rows"]) -> "Rows":
        """Several lists of rows, one after another."""
        rows = [cls(np.zeros(0, np.int64), np.zeros(0, np.int64)), *parts]
        return cls(np.concatenate([r.classes for r in rows]), np.concatenate([r.images for r in rows]))

    @classmethod
    def pools(cls, source: Source, classes: IntArray, split: Split) -> "Rows":
        """All images that some classes have in a split."""
        return cls.concatenate(cls.of_class(int(c), source.pool(int(c), split)) for c in classes)


@dataclass(frozen=True, eq=False)
class Seen:
    """The classes of the first tasks of a stream: 0 to n_first - 1, and a few others.

    Said this way it takes no more room after a million tasks than after one.

    Example:
        >>> seen = Seen(20, others=np.array([33, 27]))
        >>> len(seen), seen.classes(np.array([0, 19, 20, 21]))
        (22, array([ 0, 19, 33, 27]))
    """

    n_first: int
    others: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return self.n_first + len(self.others)

    def classes(self, numbers: IntArray) -> IntArray:
        """The classes with these numbers, 0 to len - 1."""
        classes = numbers.astype(np.int64, copy=True)
        late = numbers >= self.n_first
        classes[late] = self.others[numbers[late] - self.n_first]
        return classes


@dataclass(frozen=True)
class Labelling:
    """What a learner is told a class is called.

    Attributes:
        modulus: labels start again from 0 after so many classes; None gives each class its own label.
        with_task_ids: images say which task they are from, at test time too.
    """

    modulus: int | None = None
    with_task_ids: bool = False

    def labels(self, classes: IntArray) -> IntArray:
        """The labels of these classes."""
        return classes if self.modulus is None else classes % self.modulus


OWN_LABELS = Labelling()


class Scenario(ABC):
    """Which images make up task k; pure, and at the same cost for every k.

    Attributes:
        n_tasks: how many tasks there are; None means endless.
        labelling: what a learner is told classes are called.
        ordered: the order of the training rows is part of the stream.
        classes_recur: a class can be met in more than one task.
    """

    n_tasks: int | None
    ordered: bool = False
    classes_recur: bool = True

    def __init__(self, source: Source, *, seed: int, labelling: Labelling = OWN_LABELS) -> None:
        self.source, self.seed, self.labelling = source, seed, labelling

    @abstractmethod
    def home(self, k: int) -> IntArray:
        """The classes that task k is tested on."""

    @abstractmethod
    def train(self, k: int) -> Rows:
        """The training rows of task k, already mixed."""

    @abstractmethod
    def seen(self, n_tasks: int) -> Seen:
        """The classes that the first n tasks are tested on."""

    @abstractmethod
    def home_task(self, classes: IntArray) -> IntArray:
        """The first task that is tested on each of these classes."""

    def classes(self, k: int) -> IntArray:
        """All classes with training images in task k; those it is tested on come first."""
        return self.home(k)

    def name(self, k: int) -> str:
        """A word for people about task k; may be empty."""
        return ""

    def rows(self, k: int, split: Split) -> Rows:
        """The rows of one split of task k."""
        return self.train(k) if split == "train" else Rows.pools(self.source, self.home(k), split)
