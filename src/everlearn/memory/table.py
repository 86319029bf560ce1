"""Growable tables of named arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray

AnyArray = npt.NDArray[Any]
Columns = Mapping[str, AnyArray]


class ColumnTable:
    """Named arrays of one length, which grow by doubling, so that appending costs O(rows appended).

    The first rows determine names, dtypes and shapes; later ones must agree. One exception: a column of float
    vectors (such as logits) may become wider as classes are added. Shorter vectors are padded with NaN. At
    most `max_rows` rows are allocated.

    Example:
        >>> table = ColumnTable()
        >>> table.append({"labels": np.array([4, 5, 6])})
        >>> _ = table.remove(np.array([0]))
        >>> table["labels"]
        array([6, 5])
    """

    def __init__(self, *, max_rows: int | None = None) -> None:
        self._columns: dict[str, AnyArray] = {}
        self._max_rows = max_rows
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> AnyArray:
        """A read-only view of a column, valid until the next change."""
        view = self._columns[name][: self._n]
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        """Allocated bytes."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def used_bytes(self) -> int:
        """Bytes of the rows, without unused capacity."""
        return sum(column[: self._n].nbytes for column in self._columns.values())

    def take(self, rows: IntArray) -> dict[str, AnyArray]:
        """Copies of some rows, by column."""
        return {name: column[: self._n][rows] for name, column in self._columns.items()}

    def append(self, parts: Columns) -> None:
        """Append rows."""
        if self._columns and parts.keys() != self._columns.keys():
            raise _column_error(parts, self._columns)
        parts = self._fitted(parts)
        start = self._n
        self._reserve(start + _length(parts))
        self._n = start + _length(parts)
        for name, part in parts.items():
            self._columns[name][start : self._n] = part

    def overwrite(self, rows: IntArray, parts: Columns) -> None:
        """Overwrite rows; columns that are not given stay unchanged."""
        for name, part in self._fitted(parts).items():
            self._columns[name][rows] = part

    def remove(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Remove rows; rows from the end move into the gaps, and freed memory is overwritten with 0.

        Returns the gaps, and for each of them the row that moved into it.
        """
        kept = self._n - len(rows)
        removed = np.zeros(self._n - kept, dtype=bool)
        removed[rows[rows >= kept] - kept] = True
        gaps, moved = np.sort(rows[rows < kept]), kept + np.flatnonzero(~removed)
        for column in self._columns.values():
            column[gaps] = column[moved]
            column[kept : self._n] = 0
        self._n = kept
        return gaps, moved

    def state(self) -> dict[str, AnyArray]:
        """Copies of all columns."""
        return {name: column[: self._n].copy() for name, column in self._columns.items()}

    def load(self, arrays: Columns) -> None:
        """Restore what `state` returned."""
        _length(arrays)
        self._columns = {name: np.array(array) for name, array in arrays.items()}
        self._n = _length(arrays)

    def _reserve(self, n: int) -> None:
        capacity = min((len(column) for column in self._columns.values()), default=0)
        if n <= capacity:
            return
        capacity = max(n, 2 * capacity if self._max_rows is None else min(2 * capacity, self._max_rows))
        for name, column in self._columns.items():
            resized = np.zeros((capacity, *column.shape[1:]), column.dtype)
            resized[: self._n] = column[: self._n]
            self._columns[name] = resized

    def _fitted(self, parts: Columns) -> dict[str, AnyArray]:
        """The parts, checked against the columns; either is widened where float vectors differ."""
        _length(parts)
        if not self._columns:
            self._columns = {name: np.zeros((0, *part.shape[1:]), part.dtype) for name, part in parts.items()}
        if not parts.keys() <= self._columns.keys():
            raise _column_error(parts, self._columns)
        widths = {name: _common_width(name, self._columns[name], part) for name, part in parts.items()}
        for name, width in widths.items():
            self._columns[name] = _widened(self._columns[name], width)
        return {name: _widened(part, widths[name]) for name, part in parts.items()}


class LabeledTable(ColumnTable):
    """A table with a `labels` column and an ordered list of the rows of each label.

    Example:
        >>> table = LabeledTable()
        >>> table.append({"labels": np.array([7, 8, 7])})
        >>> table.rows_of(7), table.labels()
        (array([0, 2]), [7, 8])
    """

    def __init__(self, *, max_rows: int | None = None) -> None:
        super().__init__(max_rows=max_rows)
        self._rows_by_label: dict[int, list[int]] = {}

    def labels(self) -> list[int]:
        """The labels, sorted."""
        return sorted(self._rows_by_label)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self._rows_by_label)

    def count(self, label: int) -> int:
        """Number of rows of a label."""
        return len(self._rows_by_label.get(label, ()))

    def rows_of(self, label: int) -> IntArray:
        """The rows of a label, oldest first."""
        return np.array(self._rows_by_label.get(label, []), dtype=np.int64)

    def row_at(self, label: int, position: int) -> int:
        """The row at a position in the list of a label."""
        return self._rows_by_label[label][position]

    def append(self, parts: Columns) -> None:
        start = len(self)
        super().append(parts)
        for row, label in enumerate(parts["labels"].tolist(), start):
            self._rows_by_label.setdefault(label, []).append(row)

    def remove(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        self._renumber(self["labels"][rows], dict.fromkeys(rows.tolist()))
        gaps, moved = super().remove(rows)
        self._renumber(self["labels"][gaps], dict(zip(moved.tolist(), gaps.tolist(), strict=True)))
        return gaps, moved

    def reassign(self, label: int, position: int, new_label: int) -> int:
        """Give the row at a position in the list of one label to another; the caller then overwrites it.

        The last row of the old label moves to that position, so this costs O(1).
        """
        order = self._rows_by_label[label]
        row, order[position] = order[position], order[-1]
        order.pop()
        if not order:
            del self._rows_by_label[label]
        self._rows_by_label.setdefault(new_label, []).append(row)
        return row

    def state(self) -> dict[str, AnyArray]:
        order = [row for label in self.labels() for row in self._rows_by_label[label]]
        return {**super().state(), "row order": np.array(order, dtype=np.int64)}

    def load(self, arrays: Columns) -> None:
        columns = dict(arrays)
        order = columns.pop("row order")
        labels = columns.get("labels", order)
        if not np.array_equal(np.sort(order), np.arange(len(labels))):
            raise BadInput("the row order of the memory is not a permutation; the state is damaged")
        super().load(columns)
        self._rows_by_label = {}
        for row in order.tolist():
            self._rows_by_label.setdefault(int(labels[row]), []).append(row)

    def _renumber(self, labels: AnyArray, new_rows: Mapping[int, int | None]) -> None:
        for label in set(labels.tolist()):
            renumbered = [new_rows.get(row, row) for row in self._rows_by_label.pop(label)]
            order = [row for row in renumbered if row is not None]
            if order:
                self._rows_by_label[label] = order


def _column_error(parts: Columns, columns: Columns) -> BadInput:
    return BadInput(f"rows have columns {sorted(parts)}; this memory has {sorted(columns)}")


def _length(parts: Columns) -> int:
    lengths = {name: len(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise BadInput(f"the arrays have different lengths ({lengths}); give one row of each per image")
    return max(lengths.values(), default=0)


def _common_width(name: str, column: AnyArray, part: AnyArray) -> int | None:
    """The larger width of two float columns; None if the shapes are equal."""
    if part.dtype != column.dtype:
        raise BadInput(f"{name} has dtype {part.dtype}; this memory has {column.dtype}")
    if part.shape[1:] == column.shape[1:]:
        return None
    if part.ndim == column.ndim == 2 and np.issubdtype(part.dtype, np.floating):
        return max(int(part.shape[1]), int(column.shape[1]))
    raise BadInput(f"{name} has shape {part.shape[1:]} per row; this memory has {column.shape[1:]}")


def _widened(array: AnyArray, width: int | None) -> AnyArray:
    if width is None or array.shape[1] == width:
        return array
    return np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=np.nan)
