"""Flat arrays, one row per thing kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray

AnyArray = npt.NDArray[Any]
Columns = Mapping[str, AnyArray]


class Rows:
    """Named arrays of one length, which grow by doubling, so that adding costs O(rows added).

    The first rows appended decide names, types and shapes; later ones must agree. The one exception is a
    column of float vectors (logits, say), which may become wider as classes arrive: the vectors that are
    shorter are filled up with NaN.

    Args:
        limit: no more rows than this will ever be kept, so no more room is made.

    Example:
        >>> rows = Rows()
        >>> rows.append({"labels": np.array([4, 5, 6])})
        >>> _ = rows.remove(np.array([0]))
        >>> rows["labels"]
        array([6, 5])
    """

    def __init__(self, *, limit: int | None = None) -> None:
        self._columns: dict[str, AnyArray] = {}
        self._limit = limit
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> AnyArray:
        """A column as it is now, not a copy and not for writing; the next change may move its rows."""
        view = self._columns[name][: self._n]
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def used_bytes(self) -> int:
        """Bytes of the rows themselves: the same whatever way they came to be here."""
        return sum(column[: self._n].nbytes for column in self._columns.values())

    def take(self, rows: IntArray) -> dict[str, AnyArray]:
        """Copies of some rows, column by column."""
        return {name: column[: self._n][rows] for name, column in self._columns.items()}

    def append(self, parts: Columns) -> None:
        """Put new rows at the end."""
        if self._columns and parts.keys() != self._columns.keys():
            raise _other_columns(parts, self._columns)
        parts = self._fitted(parts)
        start = self._n
        self._make_room(start + _length(parts))
        self._n = start + _length(parts)
        for name, part in parts.items():
            self._columns[name][start : self._n] = part

    def overwrite(self, rows: IntArray, parts: Columns) -> None:
        """Put new rows in the place of old ones; columns that are not given stay."""
        for name, part in self._fitted(parts).items():
            self._columns[name][rows] = part

    def remove(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Erase rows; rows from the end move into the holes, and the places left are overwritten with 0.

        Returns:
            The holes, and for each of them the row that moved into it.
        """
        kept = self._n - len(rows)
        gone = np.zeros(self._n - kept, dtype=bool)
        gone[rows[rows >= kept] - kept] = True
        holes, movers = np.sort(rows[rows < kept]), kept + np.flatnonzero(~gone)
        for column in self._columns.values():
            column[holes] = column[movers]
            column[kept : self._n] = 0
        self._n = kept
        return holes, movers

    def trim(self) -> None:
        """Give the spare room back."""
        self._resize(self._n)

    def state(self) -> dict[str, AnyArray]:
        """Copies of all columns, without spare room."""
        return {name: column[: self._n].copy() for name, column in self._columns.items()}

    def load(self, arrays: Columns) -> None:
        """Become what `state` described."""
        _length(arrays)
        self._columns = {name: np.array(array) for name, array in arrays.items()}
        self._n = _length(arrays)

    def _make_room(self, n: int) -> None:
        room = min((len(column) for column in self._columns.values()), default=0)
        if n > room:
            doubled = max(n, 2 * room)
            self._resize(doubled if self._limit is None else max(n, min(doubled, self._limit)))

    def _resize(self, room: int) -> None:
        for name, column in self._columns.items():
            resized = np.zeros((room, *column.shape[1:]), column.dtype)
            resized[: self._n] = column[: self._n]
            self._columns[name] = resized

    def _fitted(self, parts: Columns) -> dict[str, AnyArray]:
        """The parts, known to agree with the columns; widens either where float vectors differ."""
        _length(parts)
        if not self._columns:
            self._columns = {name: np.zeros((0, *part.shape[1:]), part.dtype) for name, part in parts.items()}
        if not parts.keys() <= self._columns.keys():
            raise _other_columns(parts, self._columns)
        widths = {name: _common_width(name, self._columns[name], part) for name, part in parts.items()}
        for name, width in widths.items():
            self._columns[name] = _widened(self._columns[name], width)
        return {name: _widened(part, widths[name]) for name, part in parts.items()}


class LabelledRows(Rows):
    """Rows with a `labels` column that know, in order, which rows each label has.

    Example:
        >>> rows = LabelledRows()
        >>> rows.append({"labels": np.array([7, 8, 7])})
        >>> rows.of(7), rows.labels()
        (array([0, 2]), [7, 8])
    """

    def __init__(self, *, limit: int | None = None) -> None:
        super().__init__(limit=limit)
        self._of: dict[int, list[int]] = {}

    def labels(self) -> list[int]:
        """All labels that have a row, sorted."""
        return sorted(self._of)

    @property
    def n_labels(self) -> int:
        """How many labels have a row."""
        return len(self._of)

    def count(self, label: int) -> int:
        """How many rows a label has."""
        return len(self._of.get(label, ()))

    def of(self, label: int) -> IntArray:
        """The rows of a label, oldest first."""
        return np.array(self._of.get(label, []), dtype=np.int64)

    def row(self, label: int, place: int) -> int:
        """The row at a place in the order of a label."""
        return self._of[label][place]

    def append(self, parts: Columns) -> None:
        """Put new rows at the end, last in the order of their labels."""
        start = len(self)
        super().append(parts)
        for row, label in enumerate(parts["labels"].tolist(), start):
            self._of.setdefault(label, []).append(row)

    def remove(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Erase rows, as `Rows.remove` does; costs O(rows of the labels concerned)."""
        self._renumber(self["labels"][rows], dict.fromkeys(rows.tolist()))
        holes, movers = super().remove(rows)
        self._renumber(self["labels"][holes], dict(zip(movers.tolist(), holes.tolist(), strict=True)))
        return holes, movers

    def hand_over(self, label: int, place: int, heir: int) -> int:
        """Give the row at a place in the order of one label to another; the caller then overwrites it.

        The last row of the old label takes the place, so this costs O(1).
        """
        order = self._of[label]
        row, order[place] = order[place], order[-1]
        order.pop()
        if not order:
            del self._of[label]
        self._of.setdefault(heir, []).append(row)
        return row

    def state(self) -> dict[str, AnyArray]:
        """Copies of all columns, and all rows in the order of their labels."""
        order = [row for label in self.labels() for row in self._of[label]]
        return {**super().state(), "row order": np.array(order, dtype=np.int64)}

    def load(self, arrays: Columns) -> None:
        """Become what `state` described."""
        columns = dict(arrays)
        order = columns.pop("row order")
        labels = columns.get("labels", order)
        if not np.array_equal(np.sort(order), np.arange(len(labels))):
            raise BadInput(
                "the order of a memory's rows names a row twice or not at all; the state is damaged"
            )
        super().load(columns)
        self._of = {}
        for row in order.tolist():
            self._of.setdefault(int(labels[row]), []).append(row)

    def _renumber(self, labels: AnyArray, becomes: Mapping[int, int | None]) -> None:
        for label in set(labels.tolist()):
            renumbered = [becomes.get(row, row) for row in self._of.pop(label)]
            order = [row for row in renumbered if row is not None]
            if order:
                self._of[label] = order


def _other_columns(parts: Columns, columns: Columns) -> BadInput:
    return BadInput(f"rows come with {sorted(parts)}; this memory holds {sorted(columns)}")


def _length(parts: Columns) -> int:
    lengths = {name: len(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise BadInput(f"the arrays have different lengths ({lengths}); give one row of each per image")
    return max(lengths.values(), default=0)


def _common_width(name: str, column: AnyArray, part: AnyArray) -> int | None:
    """The width both vectors need, or None where there is nothing to widen."""
    if part.dtype != column.dtype:
        raise BadInput(f"{name} is of type {part.dtype}; this memory holds {column.dtype}")
    if part.shape[1:] == column.shape[1:]:
        return None
    if part.ndim == column.ndim == 2 and np.issubdtype(part.dtype, np.floating):
        return max(int(part.shape[1]), int(column.shape[1]))
    raise BadInput(f"{name} has shape {part.shape[1:]} a row; this memory holds {column.shape[1:]}")


def _widened(array: AnyArray, width: int | None) -> AnyArray:
    if width is None or array.shape[1] == width:
        return array
    return np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=np.nan)
