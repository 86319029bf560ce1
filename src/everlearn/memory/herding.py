"""The images that together look most like their class."""

import math
from typing import ClassVar

import numpy as np

from everlearn.chance import FloatArray, IntArray
from everlearn.errors import BadInput
from everlearn.memory.memory import Memory, Sample, columns_of
from everlearn.memory.rows import AnyArray, LabelledRows
from everlearn.memory.saving import State
from everlearn.streams.batch import Batch


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
