"""Images in files, one group per class: found by name, decoded when first looked at."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.compose import Drawings
from everlearn.streams.images.decode import MAX_FILE_BYTES, decode

Pixels = npt.NDArray[np.uint8]


class Collection(Protocol):
    """Classes of drawings; the numbers of a class's drawings run from 0."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    def class_name(self, class_id: int) -> str:
        """A word for people."""

    def n_drawings(self, class_id: int) -> int:
        """How many drawings a class has, at least one."""

    def n_test(self, class_id: int) -> int:
        """How many of them, the last ones, the data set itself sets aside as test; 0 if it does not."""

    def drawings(self, class_ids: IntArray, numbers: IntArray) -> Drawings:
        """One drawing per row."""


class Cache:
    """Remembers the most recently used drawings, up to a number of bytes.

    Travels to other processes empty.

    Example:
        >>> cache = Cache(limit=8)
        >>> len(cache.get("a", lambda: np.zeros(6, np.uint8))), cache.nbytes
        (6, 6)
        >>> len(cache.get("b", lambda: np.zeros(5, np.uint8))), cache.nbytes
        (5, 5)
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.nbytes = limit, 0
        self._kept: OrderedDict[str, Pixels] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["Cache"], tuple[int]]:
        return Cache, (self.limit,)

    def get(self, name: str, make: Callable[[], Pixels]) -> Pixels:
        """What is kept under a name, or what `make` makes, which is then kept."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        made = make()
        made.setflags(write=False)
        with self._lock:
            self._keep(name, made)
        return made

    def _keep(self, name: str, made: Pixels) -> None:
        self.nbytes -= self._kept.pop(name, made[:0]).nbytes
        self._kept[name] = made
        self.nbytes += made.nbytes
        while self.nbytes > self.limit and self._kept:
            self.nbytes -= self._kept.popitem(last=False)[1].nbytes


CACHE_BYTES = 2**28


class Gallery:
    """Classes of image files; only names are kept, and the pixels of the latest drawings.

    Args:
        files: class name -> names of its files; both are used in the order given.
        read: name of a file -> its bytes.
        prepare: decoded (H, W, 4) pixels -> the drawing to keep.
        cache_bytes: how much memory decoded drawings may take.
    """

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
        self._cache = Cache(cache_bytes)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._names)

    def class_name(self, class_id: int) -> str:
        """The name of the class's folder."""
        return self._names[class_id]

    def n_drawings(self, class_id: int) -> int:
        """How many files a class has."""
        return len(self._files[class_id])

    def n_test(self, class_id: int) -> int:
        """None is set aside: the split is ours to make."""
        return 0

    def drawings(self, class_ids: IntArray, numbers: IntArray) -> Drawings:
        """One drawing per row, decoded if it is not remembered."""
        return Drawings.of(
            [self._drawing(self._files[c][i]) for c, i in zip(class_ids, numbers, strict=True)]
        )

    def _drawing(self, file: str) -> Pixels:
        return self._cache.get(file, lambda: self._prepare(decode(self._read(file), file)))


def read_file(path: Path) -> bytes:
    """The bytes of an image file, never more than an image may have."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(
            f"{str(path)!r} cannot be read ({error.strerror}); put it back or look at its rights"
        ) from None
    return content
