"""Datasets of images: the protocol, and datasets of files that are decoded on first use."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.compose import RawImages
from everlearn.streams.images.decode import MAX_FILE_BYTES, decode

Pixels = npt.NDArray[np.uint8]

CACHE_BYTES = 2**28


class Dataset(Protocol):
    """Classes of images; the images of a class are indexed from 0."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""

    def class_name(self, class_id: int) -> str:
        """A name for display."""

    def n_images(self, class_id: int) -> int:
        """The number of images of a class, at least one."""

    def n_test(self, class_id: int) -> int:
        """The number of its last images that are test images of the dataset; 0 if it has no test split."""

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        """One image per row."""


class ImageCache:
    """LRU cache of images, limited by bytes; pickled without its content."""

    def __init__(self, limit: int) -> None:
        self.limit, self.nbytes = limit, 0
        self._images: OrderedDict[str, Pixels] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["ImageCache"], tuple[int]]:
        return ImageCache, (self.limit,)

    def get(self, name: str, load: Callable[[], Pixels]) -> Pixels:
        """The cached image, or the result of `load`, which is then cached."""
        with self._lock:
            if name in self._images:
                self._images.move_to_end(name)
                return self._images[name]
        image = load()
        image.setflags(write=False)
        with self._lock:
            self.nbytes += image.nbytes - self._images.pop(name, image[:0]).nbytes
            self._images[name] = image
            while self.nbytes > self.limit and self._images:
                self.nbytes -= self._images.popitem(last=False)[1].nbytes
        return image


class FileDataset(Dataset):
    """A dataset of image files, by the name of each class; recently used images are kept in memory.

    `read` gives the bytes of a file, `prepare` the image to keep of its decoded pixels (H, W, 4).
    """

    n_classes: int = 0

    def __init__(
        self,
        *,
        files: Mapping[str, Sequence[str]],
        read: Callable[[str], bytes],
        prepare: Callable[[Pixels], Pixels],
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._names, self._files = tuple(files), tuple(tuple(group) for group in files.values())
        self._read, self._prepare = read, prepare
        self._cache = ImageCache(cache_bytes)
        self.n_classes = len(self._names)

    def class_name(self, class_id: int) -> str:
        return self._names[class_id]

    def n_images(self, class_id: int) -> int:
        return len(self._files[class_id])

    def n_test(self, class_id: int) -> int:
        return 0

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        def image(file: str) -> Pixels:
            return self._cache.get(file, lambda: self._prepare(decode(self._read(file), file)))

        return RawImages.of([image(self._files[c][i]) for c, i in zip(class_ids, indices, strict=True)])


def read_file(root: Path, name: str) -> bytes:
    """The bytes of an image file in a folder, at most one more than allowed."""
    try:
        with (root / name).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(
            f"{str(root / name)!r} cannot be read ({error.strerror}); restore it or check its permissions"
        ) from None
