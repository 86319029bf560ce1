"""An exemplar memory with images on disk and short codes in RAM."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range, is_integer
from everlearn.memory.on_disk.index import CODE_BYTES, FREE, CodeTable, PCACoder
from everlearn.memory.on_disk.labels import as_labels, check_columns, checked_name, new_names
from everlearn.memory.on_disk.storage import Columns, RowEdit, Storage, create_files
from everlearn.memory.search import Distances, scan
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray
from everlearn.streams.stream import Images

FIT_IMAGES = 4096
"""Images that codes are fitted to; with fewer images, all are compared by pixels."""
CANDIDATES = 256
"""Images compared by pixels with each query, in addition to k."""
MAX_SIDE = 4096


class OnDiskMemory:
    """One or more exemplar images per class, limited by the size of the disk.

    A search scans 64 bytes per image in RAM for a few hundred candidates, and compares only these by pixels.
    Every edit is on disk when its call returns; an interrupted edit is complete or leaves nothing. Erased
    images are overwritten in every file. Only one process can open a memory; an edit that fails closes it.

    Args:
        folder: the folder of the memory; `create` creates a new one.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> with OnDiskMemory.create(folder.name, image_shape=(8, 8)) as memory:
        ...     memory.add([3, 7], np.stack([np.full((8, 8), 90, np.uint8), np.zeros((8, 8), np.uint8)]))
        ...     memory.rename(7, "sandal")
        ...     memory.forget([3])
        1
        >>> with OnDiskMemory(folder.name) as memory:
        ...     labels, distances = memory.search(np.ones((1, 8, 8), np.uint8))
        ...     memory.name(labels[0, 0]), float(distances[0, 0])
        ('sandal', 64.0)
        >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path) -> None:
        self._storage: Storage | None = Storage(Path(folder))
        self._table = self._read_table()
        self._n = len(self._used_rows())
        self._images = self._storage.images.mapped()
        self._fit_if_needed()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        columns: Columns | None = None,
        settings: Mapping[str, Any] | None = None,
        attached: Mapping[str, bytes] | None = None,
    ) -> Self:
        """Create an empty memory for images (H, W), (H, W, 3) or (H, W, 4).

        Args:
            folder: new or empty.
            image_shape: of all images.
            columns: further columns, with the type and the shape of a row.
            settings: data of the application that uses the memory, stored with it.
            attached: content of further files of the owner, by name.
        """
        is_valid = len(image_shape) in (2, 3) and image_shape[2:] in ((), (3,), (4,))
        if not is_valid or not all(map(is_integer, image_shape)):
            raise BadInput(f"image_shape is {image_shape}; give integers (H, W), (H, W, 3) or (H, W, 4)")
        for side in image_shape[:2]:
            check_range("image_shape", side, 1, MAX_SIDE)
        create_files(Path(folder), image_shape, columns or {}, settings or {}, attached or {})
        return cls(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of images."""
        return self._n

    def __contains__(self, label: int) -> bool:
        return bool((self._table.labels == label).any()) and label != FREE

    def __repr__(self) -> str:
        return f"<OnDiskMemory: {len(self):,} images>"

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3) of all images."""
        return self._open.image_shape

    @property
    def nbytes(self) -> int:
        """Bytes in RAM."""
        coder = self._open.coder
        return self._table.nbytes + (coder.components.nbytes + coder.mean.nbytes if coder else 0)

    @property
    def disk_bytes(self) -> int:
        """Bytes on disk."""
        return self._open.disk_bytes

    @property
    def settings(self) -> dict[str, Any]:
        """Data of the application that uses the memory; assigning it replaces it on disk."""
        return self._open.settings()

    @settings.setter
    def settings(self, settings: dict[str, Any]) -> None:
        with self._editing() as storage:
            storage.set_settings(settings)

    def columns(self, name: str) -> AnyArray:
        """A copy of a column: a row per image, in the order of `labels`."""
        values, used = self._open.columns[name].read(0, len(self._table)), self._used_rows()
        return values if len(used) == len(values) else values[used]

    def mapped_column(self, name: str) -> AnyArray:
        """A column as in `columns`, memory-mapped if no row is free: not to be used after the next edit."""
        values, used = self._open.columns[name].mapped()[: len(self._table)], self._used_rows()
        return values if len(used) == len(values) else np.array(values[used])

    def write_column(self, name: str, values: AnyArray, numbers: IntArray | None = None) -> None:
        """Replace a column, or some rows of it; not atomic, so only for what can be computed again.

        Args:
            name: of the column.
            values: in the order of `labels`, or of the numbers.
            numbers: ascending, in the order of `labels`; None for all.
        """
        rows = self._used_rows() if numbers is None else self._used_rows()[numbers]
        with self._editing() as storage:
            storage.columns[name].write(rows, values)
            storage.columns[name].sync()

    def images(self) -> Images:
        """Copies of all images, in the order of `labels`."""
        return np.array(self._images[self._used_rows()])

    def image_at(self, number: int) -> Images:
        """A copy of one image, by its number in the order of `labels`."""
        check_range("number", number, 0, len(self) - 1)
        return np.array(self._images[self._used_rows()[number]])

    def find_image(self, image: Images) -> IntArray:
        """The numbers of equal images, in the order of `labels`."""
        step = max(1, len(image) // 8)  # a few pixels of all images, then all pixels of a few
        rows = self._used_rows()
        numbers = np.flatnonzero(_equal(self._images[rows, ::step, ::step], image[::step, ::step]))
        return numbers[_equal(self._images[rows[numbers]], image)]

    def labels(self) -> IntArray:
        """The label of each image, in no particular order."""
        return self._table.labels[self._used_rows()]

    def classes(self) -> IntArray:
        """The labels, sorted."""
        return np.unique(self.labels())

    def images_of(self, label: int) -> Images:
        """Copies of the images of a class."""
        return np.array(self._images[self._rows_of([label])])

    def name(self, label: int) -> str:
        """The name of a class (default: its label)."""
        names = map(self._open.name, self._rows_of([label]).tolist())
        return next(filter(None, names), str(label))

    def names(self) -> dict[int, str]:
        """The names of classes that have one."""
        labels = self._table.labels
        return {int(labels[row]): name for row, name in self._open.names()}

    def add(
        self,
        labels: npt.ArrayLike,
        images: Images,
        names: Sequence[str] | None = None,
        columns: Mapping[str, AnyArray] | None = None,
    ) -> None:
        """Add images to new or existing classes; all of them or none.

        Args:
            labels: (n,) the class of each image, from 0 up.
            images: (n, ...) of `image_shape`, uint8.
            names: names of the classes, which must be new.
            columns: (n, ...) the rows of each column that the memory was created with.
        """
        checked = as_labels(labels)
        known = self._table.labels
        all_names = [""] * len(checked) if names is None else new_names(checked, names, known)
        images = np.asarray(images)
        if images.dtype != np.uint8 or images.shape != (len(checked), *self.image_shape):
            raise BadInput(
                f"images have shape {images.shape} of {images.dtype}; {len(checked)} labels need "
                f"{(len(checked), *self.image_shape)} of uint8"
            )
        check_columns(columns or {}, self._open.columns, len(checked))
        if not len(checked):
            return
        rows, codes = self._free_rows(len(checked)), self._encode(images)
        with self._editing() as storage:
            storage.add(images, codes, columns or {}, RowEdit(rows.tolist(), checked.tolist(), all_names))
            self._table.write(rows, checked, codes)
            self._n += len(rows)
            self._images = storage.images.mapped()
        self._fit_if_needed()

    def rename(self, label: int, name: str) -> None:
        """Change the name of a class; its label stays."""
        name, rows = checked_name(name), self._rows_of([label])
        with self._editing() as storage:
            storage.commit(RowEdit(rows.tolist(), [int(label)] * len(rows), [name] * len(rows)))

    def forget(self, labels: npt.ArrayLike) -> int:
        """Erase classes: no file holds a byte of their images, codes or names; returns how many images."""
        rows = self._rows_of(labels)
        self._erase(rows, RowEdit.erase(rows.tolist()))
        return len(rows)

    def remove(self, numbers: npt.ArrayLike) -> None:
        """Erase images, by their numbers in the order of `labels`; others of a class keep its name."""
        rows = self._used_rows()[np.unique(np.asarray(numbers, np.int64))]
        labels = self._table.labels
        edits = dict.fromkeys(rows.tolist(), (FREE, ""))
        for label in np.unique(labels[rows]).tolist():
            others = np.setdiff1d(self._rows_of([label]), rows)
            if len(others) and (name := self.names().get(label)):
                edits[int(others[0])] = (label, name)
        ordered = sorted(edits.items())
        edit = RowEdit(
            [row for row, _ in ordered], [each[0] for _, each in ordered], [each[1] for _, each in ordered]
        )
        self._erase(rows, edit)

    def _erase(self, rows: IntArray, edit: RowEdit) -> None:
        """Commit an edit that erases rows."""
        with self._editing() as storage:
            storage.commit(edit)
            self._table.write(rows, np.full(len(rows), FREE), np.zeros((len(rows), CODE_BYTES), np.int8))
            self._n -= len(rows)

    def search(self, images: AnyArray, k: int = 1) -> tuple[IntArray, Distances]:
        """The k nearest images to images (n, ...) of levels 0 to 255 and any dtype.

        Returns labels (n, k), nearest first, and squared distances (n, k) of pixels.
        """
        if images.shape[1:] != self.image_shape:
            raise BadInput(f"images are {images.shape[1:]}; this memory has {self.image_shape}")
        if not np.isfinite(images).all():
            raise BadInput("an image has a level that is not finite; give levels from 0 to 255")
        check_range("k", k, 1, np.inf)
        k = min(k, len(self))
        rows, distances = np.zeros((len(images), k), np.int64), np.zeros((len(images), k))
        queries = images.reshape(len(images), int(np.prod(self.image_shape))).astype(np.float32)
        exemplars = self._images.reshape(len(self._images), queries.shape[1])
        if k:
            for i, some in enumerate(self._candidates(images, k)):
                limits = np.full(len(some), -np.inf, np.float32)
                scan(queries[i], exemplars, some, limits, rows[i], distances[i])
        return self._table.labels[rows], distances

    def refit(self) -> None:
        """Fit the codes to the current images, if these differ much from the first ones."""
        if not len(self):
            raise BadInput("the memory is empty; add images before codes are fitted")
        rows = self._used_rows()
        some = rows[np.linspace(0, len(rows) - 1, min(FIT_IMAGES, len(rows))).astype(np.int64)]
        with self._editing() as storage:
            storage.recode(PCACoder.fit(self._images[some]))
            self._table = self._read_table()

    def close(self) -> None:
        """Close the files and release the lock."""
        if self._storage is not None:
            self._storage.close()
            self._storage = None

    @property
    def _open(self) -> Storage:
        if self._storage is None:
            raise BadInput("the memory is closed; open it again")
        return self._storage

    @contextmanager
    def _editing(self) -> Iterator[Storage]:
        """Close the memory if an edit fails; opening it again repairs it."""
        storage = self._open
        try:
            yield storage
        except BaseException:
            self.close()
            raise

    def _read_table(self) -> CodeTable:
        table, labels = CodeTable(), self._open.labels()
        table.write(np.arange(len(labels)), labels, self._open.codes())
        return table

    def _fit_if_needed(self) -> None:
        if self._open.coder is None and len(self) >= FIT_IMAGES:
            self.refit()

    def _encode(self, images: AnyArray) -> npt.NDArray[np.int8]:
        coder = self._open.coder
        return np.zeros((len(images), CODE_BYTES), np.int8) if coder is None else coder.encode(images)

    def _candidates(self, images: AnyArray, k: int) -> IntArray:
        if self._open.coder is None:
            rows = self._used_rows()
            return np.broadcast_to(rows, (len(images), len(rows)))
        return self._table.nearest(self._encode(images), min(len(self), CANDIDATES + k))

    def _used_rows(self) -> IntArray:
        return np.flatnonzero(self._table.labels != FREE)

    def _free_rows(self, n: int) -> IntArray:
        """Free rows, then new ones."""
        has_gaps = len(self) < len(self._table)
        freed = np.flatnonzero(self._table.labels == FREE)[:n] if has_gaps else np.zeros(0, np.int64)
        return np.concatenate([freed, np.arange(n - len(freed)) + len(self._table)])

    def _rows_of(self, labels: npt.ArrayLike) -> IntArray:
        wanted = np.unique(as_labels(labels))
        rows = np.flatnonzero(np.isin(self._table.labels, wanted))
        known = np.unique(self._table.labels[rows])
        if len(known) < len(wanted):
            missing = np.setdiff1d(wanted, known)[0]
            raise BadInput(f"there is no exemplar of label {missing}; `classes()` lists the labels")
        return rows


def _equal(images: Images, image: Images) -> npt.NDArray[np.bool_]:
    """Whether each of some images equals another one."""
    return np.asarray((images == image).all(axis=tuple(range(1, images.ndim))))
