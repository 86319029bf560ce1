"""The mean of each class, kept as a sum and a count."""

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.memory.table import AnyArray, Rows
from everlearn.rng import FloatArray, IntArray

GRAIN = 2.0**-20
"""What vectors are rounded to before they are added: whole numbers add up to the same in any order."""
LIMIT = 2.0**20
"""No entry of a vector may be larger, so that 2**23 of them can be added without overflow."""


class ClassSums:
    """For every label the sum of its vectors and how many there were.

    Sums are of whole numbers, so they do not depend on the order or the batches in which vectors came, and
    those of two parties merge into exactly what one party would have that met all vectors itself.

    Args:
        n_features: the length of the vectors.
        grain: vectors are rounded to multiples of it before they are added.

    Example:
        >>> one, other = ClassSums(n_features=2), ClassSums(n_features=2)
        >>> one.add(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([7, 7]))
        >>> other.add(np.array([[2.0, 4.0]]), np.array([7]))
        >>> one.merge(other)
        >>> one.labels, one.counts, one.means()
        (array([7]), array([3]), array([[1., 2.]]))
    """

    def __init__(self, *, n_features: int, grain: float = GRAIN) -> None:
        self.n_features, self.grain = n_features, grain
        self._rows = Rows()
        self._row_of: dict[int, int] = {}

    def __len__(self) -> int:
        """How many labels there are."""
        return len(self._rows)

    @property
    def labels(self) -> IntArray:
        """The labels, in the order of their first appearance."""
        return self._rows["labels"] if self._rows else np.zeros(0, np.int64)

    @property
    def sums(self) -> IntArray:
        """The sum of each label's vectors in multiples of the grain, (n_labels, n_features)."""
        return self._rows["sums"] if self._rows else np.zeros((0, self.n_features), np.int64)

    @property
    def counts(self) -> IntArray:
        """How many vectors each label has."""
        return self._rows["counts"] if self._rows else np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of sums, counts and labels."""
        return self._rows.used_bytes

    def add(self, vectors: npt.NDArray[np.floating], labels: IntArray) -> None:
        """Add vectors (n, n_features) to the sums of their labels."""
        if not (np.abs(vectors) <= LIMIT).all():
            raise BadInput(f"a vector has an entry beyond {LIMIT:,.0f} or none at all; its sum means nothing")
        whole = np.rint(np.asarray(vectors, np.float64) / self.grain).astype(np.int64)
        self._accumulate(labels, whole, np.ones(len(labels), np.int64))

    def merge(self, other: "ClassSums") -> None:
        """Take in the sums and counts of somebody else."""
        if other.n_features != self.n_features:
            raise BadInput(
                f"vectors of length {other.n_features} cannot be merged with some of length {self.n_features}"
            )
        if len(other):
            self._accumulate(other.labels, other._rows["sums"], other.counts)

    def means(self, labels: IntArray | None = None) -> FloatArray:
        """The means of some labels that were met, or of all in the order of `labels`: (n, n_features)."""
        if not len(self):
            return np.zeros((0, self.n_features))
        rows = slice(None) if labels is None else self.positions(labels)
        return np.asarray(self._rows["sums"][rows] * self.grain / self.counts[rows, None], np.float64)

    def positions(self, labels: IntArray) -> IntArray:
        """Where each label is in `labels`; -1 where it was never met."""
        return np.array([self._row_of.get(label, -1) for label in labels.tolist()], np.int64)

    def state(self) -> dict[str, AnyArray]:
        """All of it, as arrays."""
        return self._rows.state()

    def load(self, arrays: dict[str, AnyArray]) -> None:
        """Become what `state` described."""
        self._rows.load(arrays)
        self._row_of = {label: row for row, label in enumerate(self.labels.tolist())}

    def _accumulate(self, labels: IntArray, sums: AnyArray, counts: IntArray) -> None:
        self._admit(labels)
        rows, own = np.unique(self.positions(labels), return_inverse=True)
        new_sums, new_counts = self._rows["sums"][rows], self._rows["counts"][rows]
        np.add.at(new_sums, own, sums)
        np.add.at(new_counts, own, counts)
        self._rows.overwrite(rows, {"sums": new_sums, "counts": new_counts})

    def _admit(self, labels: IntArray) -> None:
        new = [label for label in dict.fromkeys(labels.tolist()) if label not in self._row_of]
        self._row_of |= {label: len(self._rows) + i for i, label in enumerate(new)}
        sums, counts = np.zeros((len(new), self.n_features), np.int64), np.zeros(len(new), np.int64)
        self._rows.append({"labels": np.array(new, np.int64), "sums": sums, "counts": counts})
