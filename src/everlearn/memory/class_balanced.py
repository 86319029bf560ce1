"""As many images of the rare as of the frequent."""

import heapq
from functools import lru_cache
from typing import ClassVar

import numpy as np

from everlearn.chance import draws
from everlearn.memory.memory import Memory, columns_of
from everlearn.memory.rows import AnyArray, LabelledRows
from everlearn.memory.saving import State
from everlearn.streams.batch import Batch


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
    return int(draws(seed, "class-balanced tie", label % 2**64).words(1)[0])
