"""MNIST and Fashion-MNIST: labelled images in four idx files, read once per process."""

import gzip
import math
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.compose import Drawings
from everlearn.streams.images.dataset import Pixels
from everlearn.streams.images.folder import data_root, first_folder

UNSIGNED_BYTE = 0x08
MAX_BYTES = 2**30

Bytes = npt.NDArray[np.uint8]


class Readable(Protocol):
    """An open file, gzipped or not."""

    def read(self, n: int, /) -> bytes:
        """The next n bytes, fewer at the end."""


def read_idx(path: Path, n_axes: int) -> Bytes:
    """The array in an idx file of unsigned bytes, read-only.

    Trusts nothing: the header is checked against the axes expected and a size limit before anything is
    read, and the file must hold exactly what its header says.

    Args:
        path: the file; gzipped if its name ends in `.gz`.
        n_axes: 3 for images, 1 for labels.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return _read(file, path, n_axes)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(
            f"{path} cannot be read ({error or 'it ends too early'}); put an undamaged copy in its place"
        ) from None


def _read(file: Readable, path: Path, n_axes: int) -> Bytes:
    shape = _read_shape(file, path, n_axes)
    expected = math.prod(shape)
    if expected > MAX_BYTES:
        raise BadInput(f"{path} claims to hold {shape} bytes; at most {MAX_BYTES} are read, so it is damaged")
    content = file.read(expected + 1)
    if len(content) != expected:
        found = f"only {len(content)}" if len(content) < expected else "more"
        raise BadInput(
            f"{path} says it holds {expected} bytes and holds {found}; put an undamaged copy in its place"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _read_shape(file: Readable, path: Path, n_axes: int) -> tuple[int, ...]:
    header = file.read(4 + 4 * n_axes)
    if len(header) < 4 + 4 * n_axes or header[:4] != bytes([0, 0, UNSIGNED_BYTE, n_axes]):
        raise BadInput(
            f"{path} does not begin like an idx file of unsigned bytes with {n_axes} axes; "
            f"put the original file, or its .gz, in its place"
        )
    return struct.unpack(f">{n_axes}I", header[4:])


DIGITS = tuple("0123456789")
CLOTHES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
# Our own layout first, then the one torchvision leaves behind.
FOLDERS = {"mnist": ("mnist", "MNIST/raw"), "fashion-mnist": ("fashion-mnist", "FashionMNIST/raw")}
IMAGES, LABELS = "{}-images-idx3-ubyte", "{}-labels-idx1-ubyte"


class LabelledImages:
    """Images with a label each, of one size, as ink on nothing; about 55 MB for MNIST.

    A class's drawings are its training images in file order, then its test images.

    Args:
        folder: where the four files lie.
        names: a word per class.
    """

    def __init__(self, *, folder: Path, names: tuple[str, ...]) -> None:
        (train, train_labels), (test, test_labels) = _read_parts(folder, len(names))
        self._folder, self._names, self._size = folder, names, train.shape[1:]
        self._pixels = np.concatenate([train.ravel(), test.ravel()])
        self._pixels.setflags(write=False)
        labels = np.concatenate([train_labels, test_labels])
        self._rows = np.argsort(labels, kind="stable")
        self._counts = np.bincount(labels, minlength=len(names))
        self._first = np.cumsum(self._counts) - self._counts
        self._n_test = np.bincount(test_labels, minlength=len(names))

    def __reduce__(self) -> tuple[Callable[..., "LabelledImages"], tuple[Path, tuple[str, ...]]]:
        return _open, (self._folder, self._names)  # another process reads the files itself, once

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._names)

    @property
    def nbytes(self) -> int:
        """The memory the images take."""
        return self._pixels.nbytes

    def class_name(self, class_id: int) -> str:
        """The digit or the garment."""
        return self._names[class_id]

    def n_drawings(self, class_id: int) -> int:
        """How many images a class has, training and test."""
        return int(self._counts[class_id])

    def n_test(self, class_id: int) -> int:
        """How many of them are test images."""
        return int(self._n_test[class_id])

    def drawings(self, class_ids: IntArray, numbers: IntArray) -> Drawings:
        """One image per row, without copying any."""
        rows = self._rows[self._first[class_ids] + numbers]
        height, width = self._size
        sizes = np.tile(np.array([height, width], np.int64), (len(rows), 1))
        return Drawings(self._pixels, rows * (height * width), sizes, channels=1)


def open_mnist(data: Path | None = None) -> LabelledImages:
    """The ten digits."""
    return _open(_folder(data, "mnist"), DIGITS)


def open_fashion(data: Path | None = None) -> LabelledImages:
    """Ten kinds of clothes."""
    return _open(_folder(data, "fashion-mnist"), CLOTHES)


def _folder(data: Path | None, name: str) -> Path:
    root = data_root(data, name)
    train = IMAGES.format("train")
    folder = first_folder(root, FOLDERS[name], (train, f"{train}.gz"))
    if folder is None:
        raise BadInput(
            f"{name} is not in {str(root)!r}; put its four files (train and t10k, images-idx3-ubyte and "
            f"labels-idx1-ubyte, gzipped or not) into {str(root / name)!r}"
        )
    return folder.resolve()


@lru_cache(maxsize=4)
def _open(folder: Path, names: tuple[str, ...]) -> LabelledImages:
    return LabelledImages(folder=folder, names=names)


def _read_parts(folder: Path, n_classes: int) -> list[tuple[Pixels, Pixels]]:
    parts = [_read_part(folder, part, n_classes) for part in ("train", "t10k")]
    sizes = [images.shape[1:] for images, _ in parts]
    if sizes[0] != sizes[1]:
        raise BadInput(
            f"the images in {str(folder)!r} have {sizes[0]} pixels in train and {sizes[1]} in t10k; "
            "put the files of one data set there"
        )
    return parts


def _read_part(folder: Path, part: str, n_classes: int) -> tuple[Pixels, Pixels]:
    images = read_idx(_file(folder, IMAGES.format(part)), n_axes=3)
    labels = read_idx(_file(folder, LABELS.format(part)), n_axes=1)
    if len(images) != len(labels):
        raise BadInput(
            f"{str(folder)!r} has {len(images)} {part} images but {len(labels)} {part} labels; "
            "put the files of one data set there"
        )
    missing = sorted(set(range(n_classes)) ^ set(np.unique(labels).tolist()))
    if missing:
        raise BadInput(
            f"the {part} labels in {str(folder)!r} are not exactly 0 to {n_classes - 1} (see {missing[0]}); "
            "put the original files there"
        )
    return images, labels


def _file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise BadInput(f"{str(folder)!r} lacks the file {name!r}; put it there, or its .gz")
