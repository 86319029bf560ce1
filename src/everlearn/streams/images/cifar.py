"""CIFAR-10 and CIFAR-100: the published pickle files, or folders of images."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.errors import BadInput
from everlearn.streams.images.arrays import ArrayDataset, Arrays
from everlearn.streams.images.dataset import Dataset
from everlearn.streams.images.folder import open_folder
from everlearn.streams.images.plain_pickle import read_plain_pickle
from everlearn.streams.images.sources import SOURCES

SIZE = 32
MAX_BYTES = 2**28
FILES = {
    "cifar10": (tuple(f"data_batch_{i}" for i in range(1, 6)), ("test_batch",), "batches.meta"),
    "cifar100": (("train",), ("test",), "meta"),
}
"""The files for training, for testing, and with the names of classes."""
KEYS = {"cifar10": (b"labels", b"label_names"), "cifar100": (b"fine_labels", b"fine_label_names")}


def open_cifar(data: Path | None, name: str, *, drawn_size: int, rgb: bool) -> Dataset:
    """CIFAR-10 ("cifar10") or CIFAR-100 ("cifar100"), with fine labels."""
    folder = SOURCES[name].locate(data)
    if (folder / FILES[name][0][0]).is_file():
        return ArrayDataset(_read(folder.resolve(), name), rgb=rgb)
    return open_folder(folder, drawn_size=drawn_size, rgb=rgb)


@lru_cache(maxsize=2)
def _read(folder: Path, name: str) -> Arrays:
    train, test, meta = FILES[name]
    batches = [_read_batch(folder / file, KEYS[name][0]) for file in (*train, *test)]
    names = _mapping(folder / meta).get(KEYS[name][1])
    if not isinstance(names, list) or not all(isinstance(each, bytes) for each in names):
        raise _damaged(folder / meta, "it has no names of classes")
    images, labels = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    if labels.min() < 0 or set(labels.tolist()) != set(range(len(names))):
        raise _damaged(folder / train[0], f"its labels are not exactly 0 to {len(names) - 1}")
    n_test = sum(len(batch[1]) for batch in batches[len(train) :])
    return Arrays(images, labels, tuple(each.decode() for each in names), n_test=n_test)


def _read_batch(path: Path, key: bytes) -> tuple[Any, Any]:
    """Images (n, 32, 32, 3) and labels."""
    content = _mapping(path)
    pixels, labels = (content.get(name, ()) for name in (b"data", key))
    is_valid = isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and isinstance(labels, list)
    if not is_valid or np.shape(pixels) != (len(labels), 3 * SIZE * SIZE):
        raise _damaged(path, f"it has no images and {key.decode()}")
    images = pixels.reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(labels, np.int64)


def _mapping(path: Path) -> dict[bytes, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _damaged(path, f"it has more than {MAX_BYTES} bytes")
        content = read_plain_pickle(path.read_bytes())
    except BadInput:
        raise
    except Exception as error:  # a damaged pickle raises any type of error
        raise _damaged(path, str(error) or type(error).__name__) from None
    if not isinstance(content, dict):
        raise _damaged(path, "it contains no dictionary")
    return content


def _damaged(path: Path, reason: str) -> BadInput:
    return BadInput(f"{str(path)!r} is not a file of CIFAR ({reason}); replace it with the published one")
