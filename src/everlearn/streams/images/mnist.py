"""MNIST and Fashion-MNIST: four idx files, read once per process."""

import gzip
import math
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.compose import RawImages
from everlearn.streams.images.dataset import Dataset, Pixels
from everlearn.streams.images.sources import SOURCES

UNSIGNED_BYTE = 0x08
MAX_BYTES = 2**30
IMAGES, LABELS = "{}-images-idx3-ubyte", "{}-labels-idx1-ubyte"
CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion-mnist": (
        *("t-shirt", "trouser", "pullover", "dress", "coat"),
        *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
    ),
}


def read_idx(path: Path, n_axes: int) -> Pixels:
    """The read-only array in an idx file of unsigned bytes, gzipped if its name ends in `.gz`.

    The number of axes (3 for images, 1 for labels) and a size limit are checked before the content is read.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            shape = _shape(file.read(4 + 4 * n_axes), path, n_axes)
            content = file.read(math.prod(shape) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(
            f"{path} cannot be read ({error or 'it is truncated'}); replace it with an undamaged copy"
        ) from None
    expected = math.prod(shape)
    if len(content) != expected:
        found = f"only {len(content)}" if len(content) < expected else "more"
        raise BadInput(
            f"{path} should contain {expected} bytes but contains {found}; replace it with an undamaged copy"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _shape(header: bytes, path: Path, n_axes: int) -> tuple[int, ...]:
    if len(header) < 4 + 4 * n_axes or header[:4] != bytes([0, 0, UNSIGNED_BYTE, n_axes]):
        raise BadInput(
            f"{path} is not an idx file of unsigned bytes with {n_axes} axes; "
            f"replace it with the original file or its .gz"
        )
    shape: tuple[int, ...] = struct.unpack(f">{n_axes}I", header[4:])
    if math.prod(shape) > MAX_BYTES:
        raise BadInput(f"{path} claims the shape {shape}, more than {MAX_BYTES} bytes; it is damaged")
    return shape


class MnistDataset(Dataset):
    """Labelled images of one size, in memory (55 MB for MNIST); gray levels are coverage.

    The images of a class are its training images in file order, then its test images.
    """

    n_classes: int = 0

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        (train, train_labels), (test, test_labels) = (
            _read_part(folder, part, len(names)) for part in ("train", "t10k")
        )
        if train.shape[1:] != test.shape[1:]:
            raise BadInput(
                f"the images in {str(folder)!r} have {train.shape[1:]} pixels in train and "
                f"{test.shape[1:]} in t10k; use the files of one dataset"
            )
        self._folder, self._names, self._size = folder, names, train.shape[1:]
        self._pixels = np.concatenate([train.ravel(), test.ravel()])
        self._pixels.setflags(write=False)
        labels = np.concatenate([train_labels, test_labels])
        self._rows = np.argsort(labels, kind="stable")
        self._counts = np.bincount(labels, minlength=len(names))
        self._first = np.cumsum(self._counts) - self._counts
        self._n_test = np.bincount(test_labels, minlength=len(names))
        self.n_classes = len(names)

    def __reduce__(self) -> tuple[Callable[..., "MnistDataset"], tuple[Path, tuple[str, ...]]]:
        return _open, (self._folder, self._names)  # another process reads the files itself

    def class_name(self, class_id: int) -> str:
        return self._names[class_id]

    def n_images(self, class_id: int) -> int:
        return int(self._counts[class_id])

    def n_test(self, class_id: int) -> int:
        return int(self._n_test[class_id])

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        rows = self._rows[self._first[class_ids] + indices]
        sizes = np.tile(np.array(self._size, np.int64), (len(rows), 1))
        return RawImages(self._pixels, rows * math.prod(self._size), sizes, channels=1)


def open_mnist(data: Path | None = None, name: str = "mnist") -> MnistDataset:
    """MNIST (the ten digits) or Fashion-MNIST ("fashion-mnist", ten kinds of clothes)."""
    return _open(SOURCES[name].locate(data).resolve(), CLASSES[name])


@lru_cache(maxsize=4)
def _open(folder: Path, names: tuple[str, ...]) -> MnistDataset:
    return MnistDataset(folder, names)


def _read_part(folder: Path, part: str, n_classes: int) -> tuple[Pixels, Pixels]:
    images = read_idx(_file(folder, IMAGES.format(part)), n_axes=3)
    labels = read_idx(_file(folder, LABELS.format(part)), n_axes=1)
    if len(images) != len(labels):
        raise BadInput(
            f"{str(folder)!r} has {len(images)} {part} images but {len(labels)} {part} labels; "
            "use the files of one dataset"
        )
    missing = sorted(set(range(n_classes)) ^ set(np.unique(labels).tolist()))
    if missing:
        raise BadInput(
            f"the {part} labels in {str(folder)!r} are not exactly 0 to {n_classes - 1} (see {missing[0]}); "
            "use the original files"
        )
    return images, labels


def _file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise BadInput(f"{str(folder)!r} lacks the file {name!r}; add it or its .gz")
