"""The files of a shelf: every edit is in them entirely or not at all."""

import json
import mmap
import os
from collections.abc import Iterator
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
from everlearn.memory.on_disk.index import CODE_BYTES, FREE, Coder, Codes
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray
from everlearn.streams.stream import Images


@dataclass(frozen=True)
class Edit:
    """What some rows hold from now on.

    Doing it twice is the same as doing it once, so a shelf that may have been stopped in the middle of its
    last edit does it again.

    Attributes:
        rows: which, rising.
        labels: the class each belongs to; -1 for a row that is erased.
        names: what people call the class of each; "" if nobody gave it a name.
    """

    rows: list[int]
    labels: list[int]
    names: list[str]

    @classmethod
    def erasing(cls, rows: list[int]) -> "Edit":
        """The edit that leaves nothing in some rows."""
        return cls(rows, [-1] * len(rows), [""] * len(rows))


class Journal:
    """Keeps one edit, the last; what was said of earlier ones is overwritten.

    Args:
        path: the file it is kept in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, edit: Edit) -> None:
        """From here on the edit will be done, now or when the shelf is opened next."""
        files.write(self.path, json.dumps(asdict(edit)).encode())

    def read(self) -> Edit:
        """The last edit; one of no rows if there was none."""
        if not self.path.exists():
            return Edit.erasing([])
        try:
            return Edit(**json.loads(self.path.read_bytes()))
        except (ValueError, TypeError):
            raise BadInput(f"{self.path} is damaged; use a copy of the shelf") from None


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
        with files.os_error_context(path):
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
            with files.os_error_context(self.path):
                files.disk.sync(self._file)
            self._is_synced = True

    def close(self) -> None:
        """Let go of the file, if that has not been done."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write_at(self, row: int, data: memoryview) -> None:
        self._is_synced = False
        with files.os_error_context(self.path):
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


ABOUT, EDIT = "shelf.json", "edit.json"
KIND, FORMAT = "shelf", 1
NAME_BYTES = 200
COPY_BATCH = 4096


class Storage:
    """Images, labels, names and codes of a shelf, a file of rows each; a free row is all zeros.

    An edit is first written down, then done; when the files are opened, the last one is done again. Images
    and codes that are added are written before that, into rows noted as to be erased until then. So a process
    may die at any moment: what it was doing is either all there or leaves no byte.

    Args:
        folder: where the files are.
    """

    def __init__(self, folder: Path) -> None:
        read_about(folder)  # complains before a lock is put into a folder that holds something else
        self.folder, self._held = folder, ExitStack()
        try:
            self._open()
            self._sweep()
            self._do(self._journal.read())
            self._check_whole()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._held.enter_context(FolderLock(self.folder))
        self._about = read_about(self.folder)
        self.image_shape = tuple(self._about["image_shape"])
        self._journal = Journal(self.folder / EDIT)
        self._labels = self._file("labels", np.int64)
        self._names = self._file("names", np.uint8, (NAME_BYTES,))
        self.images = self._file("images", np.uint8, self.image_shape)
        self._codes = self._file(_codes_name(self._about), np.int8, (CODE_BYTES,))
        fitted = (self.folder / _coder_name(self._about)).read_bytes() if self._about["codes"] else None
        self.coder = None if fitted is None else Coder.from_bytes(fitted)

    def _file(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> RowFile:
        file = RowFile(self.folder / name, dtype, shape)
        self._held.callback(file.close)
        return file

    def __len__(self) -> int:
        """How many rows there are, free ones included."""
        return len(self._labels)

    @property
    def disk_bytes(self) -> int:
        """Bytes that all files take up; names that nobody gave take none."""
        return sum(path.stat().st_blocks * 512 for path in self.folder.iterdir())

    def labels(self) -> IntArray:
        """The label of each row, -1 where it is free."""
        held: IntArray = self._labels.read(0, len(self)) - 1  # so that zeros are free
        return held

    def codes(self) -> Codes:
        """The code of each row; zeros where it is free, or as long as there is no coder."""
        return self._codes.read(0, len(self))

    def name(self, row: int) -> str:
        """What people call the class of a row; "" if nobody gave it a name."""
        return _as_name(self._names.read(row, row + 1))

    def names(self) -> Iterator[tuple[int, str]]:
        """The rows whose class has a name, and the name."""
        for start in range(0, len(self._names), COPY_BATCH):
            part = self._names.read(start, start + COPY_BATCH)
            for row in np.flatnonzero(part[:, 0]).tolist():
                yield start + row, _as_name(part[row])

    def add(self, images: Images, codes: Codes, edit: Edit) -> None:
        """Fill free rows, which the edit names."""
        rows = np.array(edit.rows, np.int64)
        self._journal.write(Edit.erasing(edit.rows))
        self.images.write(rows, images)
        self._codes.write(rows, codes)
        self._sync()
        self.commit(edit)

    def commit(self, edit: Edit) -> None:
        """Write down what to do, and do it."""
        self._journal.write(edit)
        self._do(edit)

    def recode(self, coder: Coder) -> None:
        """Encode all images anew; until that is done the old codes count."""
        old, about = self._codes, {**self._about, "codes": self._about["codes"] + 1}
        codes = self._file(_codes_name(about), np.int8, (CODE_BYTES,))
        for start in range(0, len(self), COPY_BATCH):
            rows = np.arange(start, min(start + COPY_BATCH, len(self)))
            some = coder.encode(self.images.read(start, start + len(rows)))
            some[self._labels.read(start, start + len(rows)) == 0] = 0
            codes.write(rows, some)
        codes.sync()
        files.write(self.folder / _coder_name(about), coder.to_bytes())
        write_about(self.folder, about)
        self._about, self._codes, self.coder = about, codes, coder
        old.close()
        self._sweep()

    def close(self) -> None:
        """Let others open the files."""
        self._held.close()

    def _do(self, edit: Edit) -> None:
        rows, labels = np.array(edit.rows, np.int64), np.array(edit.labels, np.int64)
        kept, gone = rows[labels != FREE], rows[labels == FREE]
        named = np.array([bool(name) for name in edit.names], bool)
        for file in (self.images, self._codes, self._labels):
            file.erase(gone)
        self._names.erase(rows[~named])
        self._names.write(rows[named], _name_rows([name for name in edit.names if name]))
        self._labels.write(kept, labels[labels != FREE] + 1)
        self._sync()

    def _sync(self) -> None:
        for file in (self.images, self._codes, self._names, self._labels):
            file.sync()

    def _sweep(self) -> None:
        """Take away what was being written when a process died, and codes that no longer count."""
        known = (_codes_name(self._about), _coder_name(self._about))
        old = [path for path in self.folder.glob("code*-*") if path.name not in known]
        for path in (*old, *self.folder.glob(".*.new")):
            files.remove(path)

    def _check_whole(self) -> None:
        for file in (self.images, self._codes):
            if len(file) < len(self):
                raise BadInput(
                    f"{file.path} is cut short: {len(file):,} of {len(self):,} rows; use a copy of the shelf"
                )


def read_about(folder: Path) -> dict[str, Any]:
    """What a shelf says about itself."""
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        found, _ = (about["kind"], about["format"]), (about["codes"] + 1, len(about["image_shape"]))
    except FileNotFoundError:
        raise BadInput(f"there is no shelf in {str(folder)!r}; name the folder of one") from None
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{folder / ABOUT} is damaged; use a copy of the shelf") from None
    if found != (KIND, FORMAT):
        raise BadInput(
            f"{str(folder)!r} holds {found[0]!r} of format {found[1]}; this everlearn reads format {FORMAT}"
        )
    return dict(about)


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """From here on this is what counts."""
    files.write(folder / ABOUT, json.dumps(about, indent=1).encode() + b"\n")


def make_files(folder: Path, image_shape: tuple[int, ...]) -> None:
    """An empty shelf in a folder that does not exist, or holds nothing."""
    files.make_folder(folder)
    if any(not path.name.endswith(".new") for path in folder.iterdir()):
        raise BadInput(f"{str(folder)!r} is not empty; name a new folder for the shelf")
    write_about(folder, {"kind": KIND, "format": FORMAT, "image_shape": list(image_shape), "codes": 0})


def _codes_name(about: dict[str, Any]) -> str:
    return f"codes-{about['codes']}"


def _coder_name(about: dict[str, Any]) -> str:
    return f"coder-{about['codes']}.safetensors"


def _as_name(row: AnyArray) -> str:
    return row.tobytes().rstrip(b"\0").decode()


def _name_rows(names: list[str]) -> AnyArray:
    padded = b"".join(name.encode().ljust(NAME_BYTES, b"\0") for name in names)
    return np.frombuffer(padded, np.uint8).reshape(-1, NAME_BYTES)
