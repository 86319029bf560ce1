"""A file of rows of one size, written in place."""

import mmap
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from everlearn import files
from everlearn.chance import IntArray
from everlearn.memory.rows import AnyArray

PIECE = 1 << 22
"""About as many bytes of zeros are written at once."""


class RowFile:
    """Row i of an array is bytes i * size to (i + 1) * size of a file; what lies past its end is zero.

    Nothing here is safe against a crash by itself: an edit is written down before it is done (`Journal`).

    Args:
        path: the file; made if it is not there.
        dtype: of the array.
        shape: of one row.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.shape = path, np.dtype(dtype), shape
        self.row_bytes = self.dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self._is_synced = True
        with files.told_apart(path):
            self._file = files.disk.open(path, os.O_CREAT | os.O_RDWR)

    def __len__(self) -> int:
        """How many rows are written in full."""
        return self.nbytes // self.row_bytes

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return os.fstat(self._file).st_size

    def read(self, start: int, stop: int) -> AnyArray:
        """Rows that follow one another, as an array in RAM."""
        rows = np.zeros((stop - start, *self.shape), self.dtype)
        rest = rows.reshape(-1).view(np.uint8).data
        place = start * self.row_bytes
        while rest and (n := os.preadv(self._file, [rest], place)):
            rest, place = rest[n:], place + n
        return rows

    def mapped(self) -> AnyArray:
        """All rows, read from the disk where and when they are looked at; later writes show in them."""
        if not len(self):
            return np.zeros((0, *self.shape), self.dtype)
        pages = mmap.mmap(self._file, len(self) * self.row_bytes, prot=mmap.PROT_READ)
        pages.madvise(mmap.MADV_RANDOM)  # or the system would read much around each row that is looked at
        return np.frombuffer(pages, self.dtype).reshape(-1, *self.shape)

    def write(self, rows: IntArray, values: AnyArray) -> None:
        """Put values into rows, which rise."""
        for start, stop in _runs(rows):
            part = np.ascontiguousarray(values[start:stop], self.dtype)
            self._write_at(int(rows[start]), part.reshape(-1).view(np.uint8).data)

    def erase(self, rows: IntArray) -> None:
        """Overwrite rows, which rise, with zeros."""
        held = rows[rows * self.row_bytes < self.nbytes]
        most = max(1, PIECE // self.row_bytes)
        for start, stop in _runs(held):
            for first in range(start, stop, most):
                self._write_at(int(held[first]), memoryview(bytes(self.row_bytes * min(most, stop - first))))

    def sync(self) -> None:
        """Force what was written to the disk."""
        if not self._is_synced:
            with files.told_apart(self.path):
                files.disk.sync(self._file)
            self._is_synced = True

    def close(self) -> None:
        """Let go of the file, if that has not been done."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write_at(self, row: int, data: memoryview) -> None:
        self._is_synced = False
        with files.told_apart(self.path):
            os.lseek(self._file, row * self.row_bytes, os.SEEK_SET)
            files.write_all(self._file, data)


def _runs(rows: IntArray) -> list[tuple[int, int]]:
    """Where rows that follow one another begin and end.

    Example:
        >>> _runs(np.array([3, 4, 5, 9]))
        [(0, 3), (3, 4)]
    """
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    edges = [0, *cuts.tolist(), len(rows)]
    return list(pairwise(edges)) if len(rows) else []
