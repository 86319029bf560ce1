"""The images that together look most like their class."""

import heapq
import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

from everlearn.errors import BadInput
from everlearn.memory.base import Memory, Sample, State, columns_of
from everlearn.memory.table import AnyArray, LabelledRows
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.stream import Batch


class Reservoir(Memory):
    """Every image met so far is kept with the same chance, capacity / n_seen.

    The n-th image draws one of n places; if it is below capacity, it takes over that place.

    Example:
        >>> memory = Reservoir(capacity=3, seed=0)
        >>> for k in range(100):
        ...     memory.add(Batch(np.zeros((10, 8, 8), np.uint8), np.full(10, k)))
        >>> memory
        <Reservoir: 3 of at most 3 images, 1000 seen>
        >>> len(memory.sample(2))
        2

    Reference: Vitter 1985, "Random sampling with a reservoir" (algorithm R).
    """

    kind: ClassVar[str] = "reservoir"

    def add(self, batch: Batch, **extra: AnyArray) -> None:
        """Meet new images, and arrays with one row for each."""
        columns = columns_of(batch, extra)
        filling = min(len(batch), self.capacity - len(self))
        self._rows.append({name: column[:filling] for name, column in columns.items()})
        numbers = self.n_seen + np.arange(len(batch))
        places = (self._chances(len(batch), 1)[:, 0] * (numbers + 1)).astype(np.int64)
        takes = np.flatnonzero((numbers >= self.capacity) & (places < self.capacity))
        last = dict(zip(places[takes].tolist(), takes.tolist(), strict=True))
        self._write(last, columns)
        self.n_seen += len(batch)


class ClassBalanced(Memory):
    """Classes share the room as evenly as what came by allows; within a class every image is as likely.

    Once there is no room left, an image of a class that has never been the largest takes the place of one
    of the largest class; a class that has been the largest is sampled like a reservoir of its own. So all
    such classes keep equally many images, give or take one, and of any other class everything is kept.
    With more classes than room, each keeps one image or none, old and new classes with the same chance; a
    class of which none is left is met like a new one.

    Example:
        >>> memory = ClassBalanced(capacity=6)
        >>> memory.add(Batch(np.zeros((100, 8, 8), np.uint8), np.repeat([0, 1, 2], [90, 9, 1])))
        >>> [memory.count(label) for label in (0, 1, 2)]
        [3, 2, 1]

    Reference: Chrysakis and Moens 2020, "Online continual learning from imbalanced data" (CBRS).
    """

    kind: ClassVar[str] = "class-balanced"
    _rows: LabelledRows

    def __init__(self, *, capacity: int, seed: int = 0) -> None:
        super().__init__(capacity=capacity, seed=seed)
        self._seen: dict[int, int] = {}
        self._was_largest: set[int] = set()
        self._heap: list[tuple[int, int, int]] = []

    def add(self, batch: Batch, **extra: AnyArray) -> None:
        """Meet new images, and arrays with one row for each."""
        columns = columns_of(batch, extra)
        labels = columns["labels"].tolist()
        filling = min(len(batch), self.capacity - len(self))
        self._rows.append({name: column[:filling] for name, column in columns.items()})
        chances = self._chances(len(batch), 2).tolist()
        writes: dict[int, int] = {}
        for i, label in enumerate(labels):
            self._seen[label] = self._seen.get(label, 0) + 1
            row = None if i < filling else self._place(label, *chances[i])
            if row is not None:
                writes[row] = i
        self._write(writes, columns)
        self.n_seen += len(batch)

    def _place(self, label: int, chance: float, where: float) -> int | None:
        """The row an image should take over, or None if it is let go."""
        largest = self._largest()
        if label not in self._was_largest and self._rows.count(label) < self._rows.count(largest):
            return self._take_from(largest, label, where)
        self._was_largest.add(label)
        kept = self._rows.count(label)
        if chance * self._seen[label] >= kept:
            return None
        return self._rows.row(label, int(where * kept))

    def _take_from(self, largest: int, label: int, where: float) -> int:
        row = self._rows.hand_over(largest, int(where * self._rows.count(largest)), label)
        self._was_largest.add(largest)
        if not self._rows.count(largest):
            del self._seen[largest]
            self._was_largest.remove(largest)
        self._rank(largest)
        self._rank(label)
        return row

    def _largest(self) -> int:
        """The class with most images; among equals a seeded draw per class decides, so that age does not.

        The heap holds an entry for each count a class has had; those out of date are dropped on sight.
        """
        if not self._heap or len(self._heap) > 4 * self._rows.n_labels + 64:
            self._heap = []
            for label in self._rows.labels():
                self._rank(label)
        while self._rows.count(self._heap[0][2]) != -self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][2]

    def _rank(self, label: int) -> None:
        if count := self._rows.count(label):
            heapq.heappush(self._heap, (-count, _luck(self.seed, label), label))

    def _no_rows(self) -> LabelledRows:
        return LabelledRows(limit=self.capacity)

    def state(self) -> State:
        """All of it, as arrays and plain facts."""
        state = super().state()
        labels = self._rows.labels()
        state["arrays"]["class seen"] = np.array([self._seen[label] for label in labels], np.int64)
        state["arrays"]["class was largest"] = np.array(
            [label in self._was_largest for label in labels], bool
        )
        return state

    def load(self, state: State) -> None:
        """Become what `state` described; kind, capacity and seed must be the same."""
        arrays = dict(state["arrays"])
        seen, was_largest = arrays.pop("class seen"), arrays.pop("class was largest")
        super().load(State(arrays=arrays, facts=state["facts"]))
        labels = self._rows.labels()
        self._seen = dict(zip(labels, seen.tolist(), strict=True))
        self._was_largest = {label for label, was in zip(labels, was_largest, strict=True) if was}
        self._heap = []


@lru_cache(maxsize=2**16)
def _luck(seed: int, label: int) -> int:
    return int(rng_at(seed, "class-balanced tie", label % 2**64).words(1)[0])


class Herding(Memory):
    """Of each class the few images whose mean feature follows the mean of the class.

    Classes have equal shares, capacity // n_classes. As classes arrive the shares shrink, and each class
    lets go of what it chose last. With more classes than room, the newest keep one image each.

    Example:
        >>> memory = Herding(capacity=4)
        >>> batch = Batch(np.zeros((3, 8, 8), np.uint8), np.array([5, 5, 5]))
        >>> memory.add(batch, features=np.array([[0.0], [9.0], [5.0]]), number=np.arange(3))
        >>> memory.of(5).extra["number"]
        array([2, 0, 1])

    Reference: Rebuffi et al. 2017, arXiv:1611.07725 (iCaRL); Welling 2009 for herding itself.
    """

    kind: ClassVar[str] = "herding"
    _rows: LabelledRows

    def __init__(self, *, capacity: int, seed: int = 0) -> None:
        super().__init__(capacity=capacity, seed=seed)
        self._arrived: dict[int, None] = {}
        self._share = capacity

    def add(self, batch: Batch, *, features: AnyArray | None = None, **extra: AnyArray) -> None:
        """Choose from all images of some classes at once; a class met before is chosen anew.

        Args:
            batch: the images of the classes.
            features: (n, d) the features to go by, normalised as the learner likes; pixels if not given.
            extra: more arrays to keep, one row for each image.
        """
        columns = columns_of(batch, extra)
        if features is None:
            features = batch.images.reshape(len(batch), math.prod(batch.images.shape[1:]))
        if features.ndim != 2 or len(features) != len(batch):
            raise BadInput(f"features have shape {features.shape}; they must be ({len(batch)}, d)")
        # Rows that do not fit are refused here, before anything has made way for them.
        self._rows.append({name: column[:0] for name, column in columns.items()})
        arriving = list(dict.fromkeys(columns["labels"].tolist()))[-self.capacity :]
        self._make_way(arriving)
        for label in arriving:
            members = np.flatnonzero(columns["labels"] == label)
            chosen = members[herd(features[members], self._share)]
            self._rows.append({name: column[chosen] for name, column in columns.items()})
        self.n_seen += len(batch)

    def of(self, label: int) -> Sample:
        """All that is kept of a label, in the order in which it was chosen."""
        return self._sample(self._rows.of(label))

    def state(self) -> State:
        """All of it, as arrays and plain facts."""
        state = super().state()
        state["arrays"]["classes arrived"] = np.array(list(self._arrived), np.int64)
        return state

    def load(self, state: State) -> None:
        """Become what `state` described; kind, capacity and seed must be the same."""
        arrays = dict(state["arrays"])
        arrived = arrays.pop("classes arrived")
        super().load(State(arrays=arrays, facts=state["facts"]))
        self._arrived = dict.fromkeys(arrived.tolist())
        self._share = self._share_now()

    def _make_way(self, arriving: list[int]) -> None:
        """Let go of the classes to be chosen anew, of the oldest if there are too many, and of tails."""
        leaving = dict.fromkeys(label for label in arriving if label in self._arrived)
        for label in arriving:
            self._arrived.pop(label, None)
            self._arrived[label] = None
        while len(self._arrived) > self.capacity:
            oldest = next(iter(self._arrived))
            leaving[oldest] = self._arrived.pop(oldest)
        doomed = [self._rows.of(label) for label in leaving]
        if self._share_now() < self._share:
            self._share = self._share_now()
            doomed += [self._rows.of(label)[self._share :] for label in self._arrived if label not in leaving]
        self._rows.remove(np.concatenate([np.zeros(0, np.int64), *doomed]))

    def _share_now(self) -> int:
        return self.capacity // max(1, len(self._arrived))

    def _no_rows(self) -> LabelledRows:
        return LabelledRows(limit=self.capacity)


def herd(features: AnyArray, n: int) -> IntArray:
    """The rows, best first, whose running mean stays closest to the mean of all.

    Example:
        >>> herd(np.array([[0.0], [9.0], [5.0]]), 2)
        array([2, 0])
    """
    points = np.asarray(features, np.float64)
    apart, total = points - points.mean(axis=0), np.zeros(points.shape[1])
    lengths: FloatArray = np.einsum("ij,ij->i", apart, apart)
    chosen = np.empty(min(n, len(points)), np.int64)
    for k in range(len(chosen)):
        # The square of |total + apart|, less that of |total|, which is the same for all.
        chosen[k] = np.argmin(lengths + 2 * np.einsum("ij,j->i", apart, total))
        total += apart[chosen[k]]
        lengths[chosen[k]] = np.inf
    return chosen
