"""Crash-safe files of an on-disk memory: every edit is applied completely or not at all."""

import json
import mmap
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn import files
from everlearn.errors import BadInput
from everlearn.files import FolderLock
from everlearn.memory.on_disk.index import CODE_BYTES, FREE, Codes, PCACoder
from everlearn.memory.on_disk.metadata import FORMAT, KIND, read_metadata, write_metadata
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray
from everlearn.streams.stream import Images

EDIT = "edit.json"
Columns = Mapping[str, tuple[npt.DTypeLike, tuple[int, ...]]]
"""Further arrays with one row per image: their type and the shape of a row."""
NAME_BYTES = 200
COPY_BATCH = 4096
"""Rows that are read and encoded together."""
ERASE_BYTES = 1 << 22
"""Zeros that are written together."""


@dataclass(frozen=True)
class RowEdit:
    """New labels and names of some rows.

    Rows are in ascending order. A row that is erased has label -1; a class without a name has "". Edits are
    idempotent: the last one, which may have been interrupted, is applied again on opening.
    """

    rows: list[int]
    labels: list[int]
    names: list[str]

    @classmethod
    def erase(cls, rows: list[int]) -> "RowEdit":
        """The edit that erases rows."""
        return cls(rows, [-1] * len(rows), [""] * len(rows))


class RowFile:
    """An array in a file: row i is bytes i * size to (i + 1) * size; rows past the end are zero.

    The file is created if it does not exist; `shape` is that of one row. Not crash-safe by itself; edits are
    journaled first.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.shape = path, np.dtype(dtype), shape
        self.row_bytes = self.dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self._is_synced = True
        with files.os_error_context(path):
            self._file = files.disk.open(path, os.O_CREAT | os.O_RDWR)

    def __len__(self) -> int:
        """Number of complete rows."""
        return self.nbytes // self.row_bytes

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return os.fstat(self._file).st_size

    def read(self, start: int, stop: int) -> AnyArray:
        """Read a range of rows."""
        rows = np.zeros((stop - start, *self.shape), self.dtype)
        rest = rows.reshape(-1).view(np.uint8).data
        offset = start * self.row_bytes
        while rest and (n := _read_at(self._file, rest, offset)):
            rest, offset = rest[n:], offset + n
        return rows

    def mapped(self) -> AnyArray:
        """All rows, memory-mapped; later writes are visible."""
        if not len(self):
            return np.zeros((0, *self.shape), self.dtype)
        pages = mmap.mmap(self._file, len(self) * self.row_bytes, access=mmap.ACCESS_READ)
        if sys.platform != "win32":
            pages.madvise(mmap.MADV_RANDOM)  # no read-ahead
        return np.frombuffer(pages, self.dtype).reshape(-1, *self.shape)

    def write(self, rows: IntArray, values: AnyArray) -> None:
        """Write rows, in ascending order."""
        for start, stop in _runs(rows):
            part = np.ascontiguousarray(values[start:stop], self.dtype)
            self._write_at(int(rows[start]), part.reshape(-1).view(np.uint8).data)

    def erase(self, rows: IntArray) -> None:
        """Overwrite rows, in ascending order, with zeros."""
        existing = rows[rows * self.row_bytes < self.nbytes]
        n = max(1, ERASE_BYTES // self.row_bytes)
        for start, stop in _runs(existing):
            for first in range(start, stop, n):
                zeros = bytes(self.row_bytes * min(n, stop - first))
                self._write_at(int(existing[first]), memoryview(zeros))

    def sync(self) -> None:
        """Flush writes to the disk."""
        if not self._is_synced:
            with files.os_error_context(self.path):
                files.disk.sync(self._file)
            self._is_synced = True

    def close(self) -> None:
        """Close the file; does nothing if it is closed."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write_at(self, row: int, data: memoryview) -> None:
        self._is_synced = False
        with files.os_error_context(self.path):
            os.lseek(self._file, row * self.row_bytes, os.SEEK_SET)
            files.write_all(self._file, data)


def _read_at(file: int, buffer: memoryview, offset: int) -> int:
    """Read into a buffer from a position of a file; returns the number of bytes read, 0 at the end."""
    if sys.platform != "win32":
        return os.preadv(file, [buffer], offset)
    data = files.read_at(file, len(buffer), offset)
    buffer[: len(data)] = data
    return len(data)


def _runs(rows: IntArray) -> list[tuple[int, int]]:
    """Start and end of each run of consecutive rows.

    Example:
        >>> _runs(np.array([3, 4, 5, 9]))
        [(0, 3), (3, 4)]
    """
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    edges = [0, *cuts.tolist(), len(rows)]
    return list(pairwise(edges)) if len(rows) else []


class Storage:
    """Images, labels, names and codes of an on-disk memory, one file each; a free row is all zeros.

    An edit is journaled, then applied; on opening, the last one is applied again. Images and codes of an
    addition are written before that, into rows that the journal marks for erasure until it is committed. So
    an interrupted edit is either complete or leaves no byte.
    """

    def __init__(self, folder: Path) -> None:
        read_metadata(folder)  # fails before a lock file is created in a wrong folder
        self.folder, self._resources = folder, ExitStack()
        try:
            self._open()
            self._remove_stale()
            self._apply(self._last_edit())
            for file in (self.images, self._codes, *self.columns.values()):
                if len(file) < len(self):
                    missing = f"{len(file):,} of {len(self):,} rows"
                    raise BadInput(f"{file.path} is cut short: {missing}; use a copy of the memory")
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._resources.enter_context(FolderLock(self.folder))
        self._metadata = read_metadata(self.folder)
        self.image_shape = tuple(self._metadata["image_shape"])
        self._labels = self._file("labels", np.int64)
        self._names = self._file("names", np.uint8, (NAME_BYTES,))
        self.images = self._file("images", np.uint8, self.image_shape)
        self._codes = self._file(_codes_name(self._metadata), np.int8, (CODE_BYTES,))
        self.columns = {
            name: self._file(f"column-{name}", dtype, tuple(shape))
            for name, (dtype, shape) in self._metadata.get("columns", {}).items()
        }
        self.coder: PCACoder | None = None
        if self._metadata["codes"]:
            self.coder = PCACoder.from_bytes((self.folder / _coder_name(self._metadata)).read_bytes())

    def _file(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> RowFile:
        file = RowFile(self.folder / name, dtype, shape)
        self._resources.callback(file.close)
        return file

    def __len__(self) -> int:
        """Number of rows, including free ones."""
        return len(self._labels)

    @property
    def disk_bytes(self) -> int:
        """Bytes on disk; files are sparse, so missing names take none."""
        sizes = [path.stat() for path in self.folder.iterdir()]
        return sum(size.st_size if sys.platform == "win32" else size.st_blocks * 512 for size in sizes)

    def labels(self) -> IntArray:
        """The label of each row, -1 if it is free."""
        return self._labels.read(0, len(self)) - 1  # 0 in the file is free

    def codes(self) -> Codes:
        """The code of each row; zeros if it is free or there is no coder yet."""
        return self._codes.read(0, len(self))

    def settings(self) -> dict[str, Any]:
        """Data of the application that uses the memory."""
        return dict(self._metadata.get("settings", {}))

    def set_settings(self, settings: dict[str, Any]) -> None:
        """Replace what `settings` gives, atomically."""
        self._metadata = {**self._metadata, "settings": settings}
        write_metadata(self.folder, self._metadata)

    def name(self, row: int) -> str:
        """The name of a row's class; "" without a name."""
        return _as_name(self._names.read(row, row + 1))

    def names(self) -> Iterator[tuple[int, str]]:
        """Rows with a name, and the names."""
        for start in range(0, len(self._names), COPY_BATCH):
            part = self._names.read(start, start + COPY_BATCH)
            for row in np.flatnonzero(part[:, 0]).tolist():
                yield start + row, _as_name(part[row])

    def add(self, images: Images, codes: Codes, columns: Mapping[str, AnyArray], edit: RowEdit) -> None:
        """Write images, codes and other columns into free rows, and commit the edit."""
        rows = np.array(edit.rows, np.int64)
        self._write_journal(RowEdit.erase(edit.rows))
        self.images.write(rows, images)
        self._codes.write(rows, codes)
        for name, values in columns.items():
            self.columns[name].write(rows, values)
        self._sync()
        self.commit(edit)

    def commit(self, edit: RowEdit) -> None:
        """Journal an edit, then apply it."""
        self._write_journal(edit)
        self._apply(edit)

    def recode(self, coder: PCACoder) -> None:
        """Encode all images again; the old codes are used until that is complete."""
        old, metadata = self._codes, {**self._metadata, "codes": self._metadata["codes"] + 1}
        codes = self._file(_codes_name(metadata), np.int8, (CODE_BYTES,))
        for start in range(0, len(self), COPY_BATCH):
            rows = np.arange(start, min(start + COPY_BATCH, len(self)))
            some = coder.encode(self.images.read(start, start + len(rows)))
            some[self._labels.read(start, start + len(rows)) == 0] = 0
            codes.write(rows, some)
        codes.sync()
        files.write(self.folder / _coder_name(metadata), coder.to_bytes())
        write_metadata(self.folder, metadata)
        self._metadata, self._codes, self.coder = metadata, codes, coder
        old.close()
        self._remove_stale()

    def close(self) -> None:
        """Close the files and release the lock."""
        self._resources.close()

    def _write_journal(self, edit: RowEdit) -> None:
        """Make sure that an edit is applied now, or when the memory is opened next."""
        files.write(self.folder / EDIT, json.dumps(asdict(edit)).encode())

    def _last_edit(self) -> RowEdit:
        path = self.folder / EDIT
        if not path.exists():
            return RowEdit.erase([])
        try:
            return RowEdit(**json.loads(path.read_bytes()))
        except (ValueError, TypeError):
            raise BadInput(f"{path} is damaged; use a copy of the memory") from None

    def _apply(self, edit: RowEdit) -> None:
        rows, labels = np.array(edit.rows, np.int64), np.array(edit.labels, np.int64)
        kept, erased = rows[labels != FREE], rows[labels == FREE]
        named = np.array([bool(name) for name in edit.names], bool)
        for file in (self.images, self._codes, *self.columns.values(), self._labels):
            file.erase(erased)
        self._names.erase(rows[~named])
        names = b"".join(name.encode().ljust(NAME_BYTES, b"\0") for name in edit.names if name)
        self._names.write(rows[named], np.frombuffer(names, np.uint8).reshape(-1, NAME_BYTES))
        self._labels.write(kept, labels[labels != FREE] + 1)
        self._sync()

    def _sync(self) -> None:
        for file in (self.images, self._codes, *self.columns.values(), self._names, self._labels):
            file.sync()

    def _remove_stale(self) -> None:
        """Remove incomplete files of an interrupted process, and outdated codes."""
        known = (_codes_name(self._metadata), _coder_name(self._metadata))
        old = [path for path in self.folder.glob("code*-*") if path.name not in known]
        for path in (*old, *self.folder.glob(".*.new")):
            files.remove(path)


def create_files(
    folder: Path,
    image_shape: tuple[int, ...],
    columns: Columns,
    settings: Mapping[str, Any],
    attached: Mapping[str, bytes],
) -> None:
    """Create an empty memory in a new or empty folder."""
    files.make_folder(folder)
    if any(not path.name.endswith(".new") and path.name not in attached for path in folder.iterdir()):
        raise BadInput(f"{str(folder)!r} is not empty; give a new folder for the memory")
    for name, content in attached.items():
        files.write(folder / name, content)
    metadata = {"kind": KIND, "format": FORMAT, "image_shape": list(image_shape), "codes": 0}
    if columns:
        metadata["columns"] = {
            name: [np.dtype(dtype).str, list(shape)] for name, (dtype, shape) in columns.items()
        }
    if settings:
        metadata["settings"] = dict(settings)
    write_metadata(folder, metadata)


def _codes_name(metadata: dict[str, Any]) -> str:
    return f"codes-{metadata['codes']}"


def _coder_name(metadata: dict[str, Any]) -> str:
    return f"coder-{metadata['codes']}.safetensors"


def _as_name(row: AnyArray) -> str:
    return row.tobytes().rstrip(b"\0").decode()
