"""What a data set of real pictures must offer, and a bounded memory of decoded ones."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everlearn.chance import IntArray
from everlearn.streams.pictures.drawings import Drawings

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
