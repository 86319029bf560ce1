"""An exemplar memory past RAM: images on disk, compact codes in RAM."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.memory.on_disk.index import CODE_BYTES, FREE, Coder, CodeTable
from everlearn.memory.on_disk.storage import NAME_BYTES, Edit, Storage, make_files
from everlearn.memory.search import Distances, scan
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray
from everlearn.streams.stream import Images

FITTED = 4096
"""Images that codes are fitted to; as long as there are fewer, all of them are compared."""
CANDIDATES = 256
"""Images compared pixel by pixel with each one looked up, besides as many as are asked for."""
MAX_SIDE = 4096
MAX_LABEL = 2**63 - 2


class Shelf:
    """One image per class, or several, for as many classes as the disk has room for.

    A lookup scans 64 bytes an image in RAM for a few hundred candidates and compares those, and only those,
    pixel by pixel. Every edit is on the disk when its call returns; a process that dies in the middle of one
    leaves all of it or nothing. What is forgotten is overwritten in every file. One process at a time may
    have a shelf open; an edit that fails closes it.

    Args:
        folder: where it is; `make` makes a new one.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> with Shelf.make(folder.name, image_shape=(8, 8)) as shelf:
        ...     shelf.add([3, 7], np.stack([np.full((8, 8), 90, np.uint8), np.zeros((8, 8), np.uint8)]))
        ...     shelf.rename(7, "sandal")
        ...     shelf.forget([3])
        1
        >>> with Shelf(folder.name) as shelf:
        ...     labels, distances = shelf.lookup(np.ones((1, 8, 8), np.uint8))
        ...     shelf.name(labels[0, 0]), float(distances[0, 0])
        ('sandal', 64.0)
        >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path) -> None:
        self._storage: Storage | None = Storage(Path(folder))
        self._table = self._read_table()
        self._n = int((self._table.labels != FREE).sum())
        self._images = self._storage.images.mapped()
        self._fit_if_due()

    @classmethod
    def make(cls, folder: str | Path, *, image_shape: tuple[int, ...] = (64, 64)) -> Self:
        """A new and empty shelf for images (H, W) or (H, W, 3)."""
        if len(image_shape) not in (2, 3) or image_shape[2:] not in ((), (3,)):
            raise BadInput(f"image_shape is {image_shape}; it must be (H, W) or (H, W, 3)")
        for side in image_shape[:2]:
            check_range("image_shape", side, 1, MAX_SIDE)
        make_files(Path(folder), image_shape)
        return cls(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """How many images there are."""
        return self._n

    def __contains__(self, label: int) -> bool:
        return bool((self._table.labels == label).any()) and label != FREE

    def __repr__(self) -> str:
        return f"<Shelf: {len(self):,} images>"

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3) of all images."""
        return self._open.image_shape

    @property
    def nbytes(self) -> int:
        """Bytes held in RAM."""
        coder = self._open.coder
        return self._table.nbytes + (coder.directions.nbytes + coder.middle.nbytes if coder else 0)

    @property
    def disk_bytes(self) -> int:
        """Bytes of its files."""
        return self._open.disk_bytes

    def labels(self) -> IntArray:
        """The label of each image, in no particular order."""
        labels: IntArray = self._table.labels[self._table.labels != FREE]
        return labels

    def classes(self) -> IntArray:
        """The labels that have an image, sorted."""
        return np.unique(self.labels())

    def images_of(self, label: int) -> Images:
        """Copies of the images of a class."""
        return np.array(self._images[self._rows_of([label])])

    def name(self, label: int) -> str:
        """What people call a class; its label if nobody gave it a name."""
        names = map(self._open.name, self._rows_of([label]).tolist())
        return next(filter(None, names), str(label))

    def names(self) -> dict[int, str]:
        """What people call the classes that they gave a name."""
        labels = self._table.labels
        return {int(labels[row]): name for row, name in self._open.names()}

    def add(self, labels: npt.ArrayLike, images: Images, names: Sequence[str] | None = None) -> None:
        """Remember images, next to those their classes may have already; all of them or none.

        Args:
            labels: (n,) the class of each, from 0 up.
            images: (n, ...) of the shelf's shape, uint8.
            names: what people call each class; only for classes that are new, with one image each.
        """
        given = _as_labels(labels)
        called = [""] * len(given) if names is None else self._checked_names(given, names)
        if images.dtype != np.uint8 or images.shape != (len(given), *self.image_shape):
            raise BadInput(
                f"images have shape {images.shape} of {images.dtype}; {len(given)} labels need "
                f"{(len(given), *self.image_shape)} of uint8"
            )
        if not len(given):
            return
        rows, codes = self._free_rows(len(given)), self._encode(images)
        with self._editing() as storage:
            storage.add(images, codes, Edit(rows.tolist(), given.tolist(), called))
            self._table.write(rows, given, codes)
            self._n += len(rows)
            self._images = storage.images.mapped()
        self._fit_if_due()

    def rename(self, label: int, name: str) -> None:
        """Let people call a class something else; its label stays."""
        _check_name(name)
        rows = self._rows_of([label])
        with self._editing() as storage:
            storage.commit(Edit(rows.tolist(), [int(label)] * len(rows), [name] * len(rows)))

    def forget(self, labels: npt.ArrayLike) -> int:
        """Erase classes beyond recovery: no file holds a byte of their images, codes or names afterwards.

        Returns:
            How many images were erased.
        """
        rows = self._rows_of(labels)
        with self._editing() as storage:
            storage.commit(Edit.erasing(rows.tolist()))
            self._table.write(rows, np.full(len(rows), FREE), np.zeros((len(rows), CODE_BYTES), np.int8))
            self._n -= len(rows)
        return len(rows)

    def lookup(self, images: AnyArray, k: int = 1) -> tuple[IntArray, Distances]:
        """The k nearest images to each image.

        Args:
            images: (n, ...) of the shelf's shape, levels 0 to 255 of any type.
            k: how many; fewer if there are not so many images.

        Returns:
            The labels (n, k), nearest first, and the squared distances (n, k) of the pixels.
        """
        if images.shape[1:] != self.image_shape:
            raise BadInput(f"images are {images.shape[1:]}; this shelf holds {self.image_shape}")
        if not np.isfinite(images).all():
            raise BadInput("an image has a level that is no number; give levels from 0 to 255")
        check_range("k", k, 1, np.inf)
        k = min(k, len(self))
        rows, distances = np.zeros((len(images), k), np.int64), np.zeros((len(images), k))
        given = images.reshape(len(images), int(np.prod(self.image_shape))).astype(np.float32)
        known = self._images.reshape(len(self._images), given.shape[1])
        if k:
            for i, some in enumerate(self._candidates(images, k)):
                scan(given[i], known, some, np.full(len(some), -np.inf, np.float32), rows[i], distances[i])
        return self._table.labels[rows], distances

    def refit(self) -> None:
        """Fit the codes anew to what is kept now, for when that differs much from what came first."""
        if not len(self):
            raise BadInput("the shelf is empty; add images before their codes are fitted")
        rows = np.flatnonzero(self._table.labels != FREE)
        some = rows[np.linspace(0, len(rows) - 1, min(FITTED, len(rows))).astype(np.int64)]
        with self._editing() as storage:
            storage.recode(Coder.fit(self._images[some]))
            self._table = self._read_table()

    def close(self) -> None:
        """Let others open it."""
        if self._storage is not None:
            self._storage.close()
            self._storage = None

    @property
    def _open(self) -> Storage:
        if self._storage is None:
            raise BadInput("the shelf is closed; open it again")
        return self._storage

    @contextmanager
    def _editing(self) -> Iterator[Storage]:
        """What fails half-way must not be built upon: opening the shelf again mends it."""
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

    def _fit_if_due(self) -> None:
        if self._open.coder is None and len(self) >= FITTED:
            self.refit()

    def _encode(self, images: AnyArray) -> npt.NDArray[np.int8]:
        coder = self._open.coder
        return np.zeros((len(images), CODE_BYTES), np.int8) if coder is None else coder.encode(images)

    def _candidates(self, images: AnyArray, k: int) -> IntArray:
        if self._open.coder is None:
            rows = np.flatnonzero(self._table.labels != FREE)
            return np.broadcast_to(rows, (len(images), len(rows)))
        return self._table.nearest(self._encode(images), min(len(self), CANDIDATES + k))

    def _free_rows(self, n: int) -> IntArray:
        """Rows that were freed, then new ones."""
        has_holes = len(self) < len(self._table)
        freed = np.flatnonzero(self._table.labels == FREE)[:n] if has_holes else np.zeros(0, np.int64)
        return np.concatenate([freed, np.arange(n - len(freed)) + len(self._table)])

    def _rows_of(self, labels: npt.ArrayLike) -> IntArray:
        wanted = np.unique(_as_labels(labels))
        rows = np.flatnonzero(np.isin(self._table.labels, wanted))
        known = np.unique(self._table.labels[rows])
        if len(known) < len(wanted):
            missing = np.setdiff1d(wanted, known)[0]
            raise BadInput(f"nothing is remembered of label {missing}; `classes()` tells which there are")
        return rows

    def _checked_names(self, labels: IntArray, names: Sequence[str]) -> list[str]:
        if len(names) != len(labels) or len(np.unique(labels)) < len(labels):
            raise BadInput(f"{len(names)} names for {len(labels)} images; name each class once")
        known = labels[np.isin(labels, self._table.labels)]
        if len(known):
            raise BadInput(f"label {known[0]} is known already; add its image without a name, or rename it")
        for name in names:
            _check_name(name)
        return list(names)


def _as_labels(labels: npt.ArrayLike) -> IntArray:
    given = np.asarray(labels)
    is_whole = given.ndim == 1 and (given.dtype.kind in "iu" or not len(given))
    if not is_whole or (given < 0).any() or (given > MAX_LABEL).any():
        raise BadInput(f"labels are {labels!r:.80}; give a flat list of whole numbers from 0 up")
    return given.astype(np.int64)


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name.encode()) > NAME_BYTES:
        raise BadInput(f"{name!r:.80} is no name for a class; give 1 to {NAME_BYTES} bytes of printable text")
