"""Replay buffers: reservoir sampling, class-balanced reservoir sampling, herding."""

import heapq
import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

from everlearn.errors import BadInput
from everlearn.memory.base import ReplayBuffer, Sample, State, columns_of
from everlearn.memory.table import AnyArray, LabeledTable
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.stream import Batch


class Reservoir(ReplayBuffer):
    """Reservoir sampling: every image seen so far is stored with equal probability, capacity / n_seen.

    The n-th image draws one of n slots; if the slot is below capacity, the image replaces its content.

    Example:
        >>> buffer = Reservoir(capacity=3, seed=0)
        >>> for k in range(100):
        ...     buffer.add(Batch(np.zeros((10, 8, 8), np.uint8), np.full(10, k)))
        >>> buffer
        <Reservoir: 3 of at most 3 images, 1000 seen>
        >>> len(buffer.sample(2))
        2

    Reference: Vitter 1985, "Random sampling with a reservoir" (algorithm R).
    """

    kind: ClassVar[str] = "reservoir"

    def add(self, batch: Batch, **extra: AnyArray) -> None:
        columns = columns_of(batch, extra)
        n_free = min(len(batch), self.capacity - len(self))
        self._table.append({name: column[:n_free] for name, column in columns.items()})
        numbers = self.n_seen + np.arange(len(batch))
        slots = (self._uniforms(len(batch), 1)[:, 0] * (numbers + 1)).astype(np.int64)
        stored = np.flatnonzero((numbers >= self.capacity) & (slots < self.capacity))
        self._overwrite(dict(zip(slots[stored].tolist(), stored.tolist(), strict=True)), columns)
        self.n_seen += len(batch)


class ClassBalanced(ReplayBuffer):
    """Class-balancing reservoir sampling (CBRS).

    When the buffer is full, an image of a class that has never been the largest replaces one of the largest
    class; a class that has been the largest is sampled by its own reservoir. The numbers of images of such
    classes thus differ by at most one, and all images of the other classes are stored. With more classes than
    capacity, each class stores one image or none, with equal probability for old and new classes; a class
    without stored images is treated as new.

    Example:
        >>> buffer = ClassBalanced(capacity=6)
        >>> buffer.add(Batch(np.zeros((100, 8, 8), np.uint8), np.repeat([0, 1, 2], [90, 9, 1])))
        >>> [buffer.count(label) for label in (0, 1, 2)]
        [3, 2, 1]

    Reference: Chrysakis and Moens 2020, "Online continual learning from imbalanced data" (CBRS).
    """

    kind: ClassVar[str] = "class-balanced"
    table_class = LabeledTable
    _table: LabeledTable

    def __init__(self, *, capacity: int, seed: int = 0) -> None:
        super().__init__(capacity=capacity, seed=seed)
        self._n_seen_of: dict[int, int] = {}
        self._was_largest: set[int] = set()
        self._heap: list[tuple[int, int, int]] = []

    def add(self, batch: Batch, **extra: AnyArray) -> None:
        columns = columns_of(batch, extra)
        labels = columns["labels"].tolist()
        n_free = min(len(batch), self.capacity - len(self))
        self._table.append({name: column[:n_free] for name, column in columns.items()})
        uniforms = self._uniforms(len(batch), 2).tolist()
        stored: dict[int, int] = {}
        for i, label in enumerate(labels):
            self._n_seen_of[label] = self._n_seen_of.get(label, 0) + 1
            row = None if i < n_free else self._row_for(label, *uniforms[i])
            if row is not None:
                stored[row] = i
        self._overwrite(stored, columns)
        self.n_seen += len(batch)

    def _row_for(self, label: int, accept: float, which: float) -> int | None:
        """The row that an image replaces; None if it is not stored."""
        largest = self._largest()
        if label not in self._was_largest and self._table.count(label) < self._table.count(largest):
            return self._take_from(largest, label, which)
        self._was_largest.add(label)
        n_stored = self._table.count(label)
        if accept * self._n_seen_of[label] >= n_stored:
            return None
        return self._table.row_at(label, int(which * n_stored))

    def _take_from(self, largest: int, label: int, which: float) -> int:
        row = self._table.reassign(largest, int(which * self._table.count(largest)), label)
        self._was_largest.add(largest)
        if not self._table.count(largest):
            del self._n_seen_of[largest]
            self._was_largest.remove(largest)
        self._push(largest)
        self._push(label)
        return row

    def _largest(self) -> int:
        """The class with most images; ties are broken by a random number per class, not by age.

        The heap holds an entry for each count that a class has had; outdated entries are dropped here.
        """
        if not self._heap or len(self._heap) > 4 * self._table.n_labels + 64:
            self._heap = []
            for label in self._table.labels():
                self._push(label)
        while self._table.count(self._heap[0][2]) != -self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][2]

    def _push(self, label: int) -> None:
        if count := self._table.count(label):
            heapq.heappush(self._heap, (-count, _tie_breaker(self.seed, label), label))

    def state(self) -> State:
        state = super().state()
        labels = self._table.labels()
        state["arrays"]["class seen"] = np.array([self._n_seen_of[label] for label in labels], np.int64)
        was_largest = [label in self._was_largest for label in labels]
        state["arrays"]["class was largest"] = np.array(was_largest, bool)
        return state

    def load(self, state: State) -> None:
        arrays = dict(state["arrays"])
        n_seen, was_largest = arrays.pop("class seen"), arrays.pop("class was largest")
        super().load(State(arrays=arrays, metadata=state["metadata"]))
        labels = self._table.labels()
        self._n_seen_of = dict(zip(labels, n_seen.tolist(), strict=True))
        self._was_largest = {label for label, was in zip(labels, was_largest, strict=True) if was}
        self._heap = []


@lru_cache(maxsize=2**16)
def _tie_breaker(seed: int, label: int) -> int:
    return int(rng_at(seed, "class-balanced tie", label % 2**64).words(1)[0])


class Herding(ReplayBuffer):
    """Herding selection: the images of each class whose mean feature approximates the class mean.

    All classes store equally many images, capacity // n_classes. As classes are added this number shrinks,
    and each class drops the images that were selected last. With more classes than capacity, the newest
    classes store one image each.

    Example:
        >>> buffer = Herding(capacity=4)
        >>> batch = Batch(np.zeros((3, 8, 8), np.uint8), np.array([5, 5, 5]))
        >>> buffer.add(batch, features=np.array([[0.0], [9.0], [5.0]]), number=np.arange(3))
        >>> buffer.of(5).extra["number"]
        array([2, 0, 1])

    Reference: Rebuffi et al. 2017, arXiv:1611.07725 (iCaRL); Welling 2009 for herding itself.
    """

    kind: ClassVar[str] = "herding"
    table_class = LabeledTable
    _table: LabeledTable

    def __init__(self, *, capacity: int, seed: int = 0) -> None:
        super().__init__(capacity=capacity, seed=seed)
        self._classes: dict[int, None] = {}
        self._n_per_class = capacity

    def add(self, batch: Batch, *, features: AnyArray | None = None, **extra: AnyArray) -> None:
        """Select from all images of some classes, and replace those of classes that are already stored.

        Features (n, d) are normalized as the learner requires (default: pixels).
        """
        columns = columns_of(batch, extra)
        if features is None:
            features = batch.images.reshape(len(batch), math.prod(batch.images.shape[1:]))
        if features.ndim != 2 or len(features) != len(batch):
            raise BadInput(f"features have shape {features.shape}; they must be ({len(batch)}, d)")
        # An empty append checks the columns before any row is removed.
        self._table.append({name: column[:0] for name, column in columns.items()})
        new = list(dict.fromkeys(columns["labels"].tolist()))[-self.capacity :]
        self._remove_for(new)
        for label in new:
            members = np.flatnonzero(columns["labels"] == label)
            selected = members[herd(features[members], self._n_per_class)]
            self._table.append({name: column[selected] for name, column in columns.items()})
        self.n_seen += len(batch)

    def of(self, label: int) -> Sample:
        """All that is stored of a label, in the order of selection."""
        return self._sample(self._table.rows_of(label))

    def state(self) -> State:
        state = super().state()
        state["arrays"]["classes arrived"] = np.array(list(self._classes), np.int64)
        return state

    def load(self, state: State) -> None:
        arrays = dict(state["arrays"])
        classes = arrays.pop("classes arrived")
        super().load(State(arrays=arrays, metadata=state["metadata"]))
        self._classes = dict.fromkeys(classes.tolist())
        self._n_per_class = self._images_per_class()

    def _remove_for(self, new: list[int]) -> None:
        """Remove the old images of these classes, then the oldest classes and surplus images of others."""
        removed = dict.fromkeys(label for label in new if label in self._classes)
        for label in new:
            self._classes.pop(label, None)
            self._classes[label] = None
        while len(self._classes) > self.capacity:
            oldest = next(iter(self._classes))
            removed[oldest] = self._classes.pop(oldest)
        rows = [self._table.rows_of(label) for label in removed]
        if self._images_per_class() < self._n_per_class:
            n = self._n_per_class = self._images_per_class()
            rows += [self._table.rows_of(label)[n:] for label in self._classes if label not in removed]
        self._table.remove(np.concatenate([np.zeros(0, np.int64), *rows]))

    def _images_per_class(self) -> int:
        return self.capacity // max(1, len(self._classes))


def herd(features: AnyArray, n: int, mean: AnyArray | None = None) -> IntArray:
    """The rows, in order of selection, whose running mean stays closest to a mean (default: of all rows).

    Example:
        >>> herd(np.array([[0.0], [9.0], [5.0]]), 2)
        array([2, 0])
    """
    points = np.asarray(features, np.float64)
    centered = points - (points.mean(axis=0) if mean is None else mean)
    total = np.zeros(points.shape[1])
    squares: FloatArray = np.einsum("ij,ij->i", centered, centered)
    selected = np.empty(min(n, len(points)), np.int64)
    for k in range(len(selected)):
        # |total + centered|^2 minus |total|^2, which is the same for all rows.
        selected[k] = np.argmin(squares + 2 * np.einsum("ij,j->i", centered, total))
        total += centered[selected[k]]
        squares[selected[k]] = np.inf
    return selected
