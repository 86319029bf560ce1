"""Running class means with exact, order-independent sums."""

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.memory.table import AnyArray, ColumnTable
from everlearn.rng import FloatArray, IntArray

RESOLUTION = 2.0**-20
"""Default resolution to which vectors are rounded: sums of integers do not depend on the order."""
MAX_ENTRY = 2.0**20
"""Largest entry of a vector, so that 2**23 vectors can be added without overflow."""


class ClassMeans:
    """The sum and the number of vectors of each label.

    Sums are integers, so they do not depend on the order of vectors or on batches, and merging two objects
    gives exactly the sums of all vectors.

    Args:
        n_features: length of the vectors.
        resolution: vectors are rounded to multiples of it before they are added.

    Example:
        >>> one, other = ClassMeans(n_features=2), ClassMeans(n_features=2)
        >>> one.add(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([7, 7]))
        >>> other.add(np.array([[2.0, 4.0]]), np.array([7]))
        >>> one.merge(other)
        >>> one.labels, one.counts, one.means()
        (array([7]), array([3]), array([[1., 2.]]))
    """

    def __init__(self, *, n_features: int, resolution: float = RESOLUTION) -> None:
        self.n_features, self.resolution = n_features, resolution
        self._table = ColumnTable()
        self._row_of: dict[int, int] = {}

    def __len__(self) -> int:
        """Number of labels."""
        return len(self._table)

    @property
    def labels(self) -> IntArray:
        """The labels, in the order of their first appearance."""
        return self._table["labels"] if self._table else np.zeros(0, np.int64)

    @property
    def sums(self) -> IntArray:
        """The sum of each label's vectors in multiples of the resolution, (n_labels, n_features)."""
        return self._table["sums"] if self._table else np.zeros((0, self.n_features), np.int64)

    @property
    def counts(self) -> IntArray:
        """Number of vectors of each label."""
        return self._table["counts"] if self._table else np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of sums, counts and labels."""
        return self._table.used_bytes

    def add(self, vectors: npt.NDArray[np.floating], labels: IntArray) -> None:
        """Add vectors (n, n_features) to the sums of their labels."""
        if not (np.abs(vectors) <= MAX_ENTRY).all():
            raise BadInput(
                f"a vector has an entry that is not finite or beyond ±{MAX_ENTRY:,.0f}; rescale it"
            )
        integers = np.rint(np.asarray(vectors, np.float64) / self.resolution).astype(np.int64)
        self._accumulate(labels, integers, np.ones(len(labels), np.int64))

    def merge(self, other: "ClassMeans") -> None:
        """Add the sums and counts of another object."""
        if other.n_features != self.n_features:
            raise BadInput(
                f"means of {other.n_features} features cannot be merged with means of {self.n_features}; use "
                "equal features"
            )
        if len(other):
            self._accumulate(other.labels, other._table["sums"], other.counts)

    def means(self, labels: IntArray | None = None) -> FloatArray:
        """The means (n, n_features) of known labels (default: all, in the order of `labels`)."""
        if not len(self):
            return np.zeros((0, self.n_features))
        rows = slice(None) if labels is None else self.positions(labels)
        return np.asarray(self._table["sums"][rows] * self.resolution / self.counts[rows, None], np.float64)

    def positions(self, labels: IntArray) -> IntArray:
        """The position of each label in `labels`; -1 for unknown ones."""
        return np.array([self._row_of.get(label, -1) for label in labels.tolist()], np.int64)

    def state(self) -> dict[str, AnyArray]:
        """Everything, as arrays."""
        return self._table.state()

    def load(self, arrays: dict[str, AnyArray]) -> None:
        """Restore what `state` returned."""
        self._table.load(arrays)
        self._row_of = {label: row for row, label in enumerate(self.labels.tolist())}

    def _accumulate(self, labels: IntArray, sums: AnyArray, counts: IntArray) -> None:
        new = [label for label in dict.fromkeys(labels.tolist()) if label not in self._row_of]
        self._row_of |= {label: len(self._table) + i for i, label in enumerate(new)}
        n = len(new)
        zeros = {"sums": np.zeros((n, self.n_features), np.int64), "counts": np.zeros(n, np.int64)}
        self._table.append({"labels": np.array(new, np.int64), **zeros})
        rows, own = np.unique(self.positions(labels), return_inverse=True)
        new_sums, new_counts = self._table["sums"][rows], self._table["counts"][rows]
        np.add.at(new_sums, own, sums)
        np.add.at(new_counts, own, counts)
        self._table.overwrite(rows, {"sums": new_sums, "counts": new_counts})
