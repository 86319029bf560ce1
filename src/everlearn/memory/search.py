"""The nearest images of an exemplar memory, found by compact codes and proved by the pixels."""

from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.memory.exemplars import ExemplarMemory
from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled

Floats = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

FIRST = 24
"""Candidates looked at before more are asked for."""

ORIGIN = np.float32(168)
"""Codes are of images less this gray, near the background of most: short vectors round better."""
STRETCH = 256
"""Pixels compared before a candidate may be given up as too far."""
SLACK = 1e-5
"""Room for rounding in float32 sums, as a share of the squares that were added."""


class Lookup:
    """Codes of all images of a memory, kept up to date with its edits.

    A code is the image averaged over blocks of `block` pixels, and the length of what averaging lost. The
    distance of codes is never above that of the images, so a search in codes whose worst exact distance
    lies below the best code distance of all others has found the true nearest ones.

    Args:
        block: pixels along the side of a block; 1 compares the images themselves.

    Example:
        >>> from everlearn.streams import Batch
        >>> memory, lookup = ExemplarMemory(), Lookup(block=4)
        >>> memory.add(Batch(np.full((2, 16, 16), 9, np.uint8), np.array([3, 7])))
        >>> memory.forget(3)
        1
        >>> lookup.follow(memory)
        True
        >>> rows, distances = lookup.nearest(memory.images.astype(np.float32), 1)
        >>> memory.labels[rows[0]], float(distances[0, 0])
        (array([7]), 0.0)
    """

    def __init__(self, *, block: int = 4) -> None:
        self.block = block
        self._memory, self._version = ExemplarMemory(), -1
        self._table: Floats = np.zeros((0, 0), np.float32)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes."""
        return self._table.nbytes

    def follow(self, memory: ExemplarMemory) -> bool:
        """Bring the codes up to date with a memory; True if there was anything to do.

        After the first time it costs as much work as the edits since the last.
        """
        if memory is not self._memory or memory.version < self._version:
            self._memory, self._version, self._table = memory, -1, self._table[:0]
        if memory.version == self._version:
            return False
        rows, kept = memory.changed_since(self._version), self._table[: len(memory)]
        if len(rows):
            codes = _as_rows(*encode(memory.images[rows], self.block))
            # A new table, so that nothing of rows that are gone stays behind in spare room.
            table = np.zeros((len(memory), codes.shape[1]), np.float32)
            table[: len(kept), : kept.shape[1]] = kept
            table[rows] = codes
            self._table = table
        else:
            self._table = kept.copy()
        self._version = memory.version
        return True

    def candidates(self, images: Floats, k: int) -> tuple[IntArray, Floats]:
        """The k rows of the memory with the nearest codes, nearest first, and the distances of the codes."""
        bounds = self._bounds(images)
        rows = smallest(bounds, min(k, len(self)))
        return rows, np.take_along_axis(bounds, rows, 1)

    def nearest(self, images: Floats, k: int) -> tuple[IntArray, Distances]:
        """The k nearest rows of the memory and the squared distances of their pixels, nearest first."""
        k, bounds = min(k, len(self)), self._bounds(images)
        rows, distances = np.zeros((len(images), k), np.int64), np.zeros((len(images), k))
        if not k:
            return rows, distances
        known = self._memory.images.reshape(len(self), -1)
        given = images.reshape(len(images), -1)
        open_, n = np.arange(len(images)), FIRST + k
        while len(open_):
            some = smallest(bounds[open_], min(n, len(self)))
            limits = np.take_along_axis(bounds[open_], some, 1) - SLACK * _squares(given[open_])[:, None]
            proved = [
                scan(given[i], known, some[j], limits[j], rows[i], distances[i]) for j, i in enumerate(open_)
            ]
            open_ = open_[~np.array(proved) & (n < len(self))]
            n *= 8
        return rows, distances

    def _bounds(self, images: Floats) -> Floats:
        """Squared distances of codes, (n, rows): lower bounds of those of the images."""
        codes, rests = encode(images, self.block)
        own = np.einsum("nd,nd->n", codes, codes) + np.square(rests)
        bounds: Floats = _as_columns(codes, rests) @ self._table.T
        bounds += own[:, None]
        return bounds


@compiled
def scan(
    image: Floats,
    known: npt.NDArray[np.uint8],
    some: IntArray,
    limits: Floats,
    rows: IntArray,
    distances: Distances,
) -> bool:
    """Go through candidates from the most promising on, keep the nearest; True if no other can be nearer.

    A candidate whose distance cannot be below its limit is not looked at once enough nearer ones are known.
    """
    distances[:] = np.inf
    for candidate, limit in zip(some, limits):  # noqa: B905  (numba knows no strict)
        if limit > distances[-1]:
            return True
        distance, start = 0.0, 0
        while start < len(image) and distance < distances[-1]:
            for pixel in range(start, min(start + STRETCH, len(image))):
                difference = image[pixel] - np.float32(known[candidate, pixel])
                distance += difference * difference
            start += STRETCH
        place = len(distances)
        while place > 0 and distance < distances[place - 1]:
            place -= 1
        if place < len(distances):
            distances[place + 1 :] = distances[place:-1].copy()
            rows[place + 1 :] = rows[place:-1].copy()
            distances[place], rows[place] = distance, candidate
    return False


def encode(images: npt.NDArray[Any], block: int) -> tuple[Floats, Floats]:
    """Codes (n, d), and the length of what they leave out (n,)."""
    n, H, W = images.shape[:3]
    whole = (images - ORIGIN).reshape(n, H, W, -1)
    padded = np.pad(whole, ((0, 0), (0, -H % block), (0, -W % block), (0, 0)))
    shape = (n, padded.shape[1] // block, block, padded.shape[2] // block, block, whole.shape[3])
    codes: Floats = padded.reshape(shape).sum(axis=(2, 4)).reshape(n, -1) / np.float32(block)
    lost = np.square(whole).sum(axis=(1, 2, 3)) - np.einsum("nd,nd->n", codes, codes)
    return codes, np.sqrt(np.maximum(lost, 0))


def _as_rows(codes: Floats, rests: Floats) -> Floats:
    """What is kept of each image of the memory; its product with `_as_columns` is a distance, but for
    the square of the latter's own length.
    """
    own = np.einsum("nd,nd->n", codes, codes) + np.square(rests)
    return np.concatenate([codes, rests[:, None], own[:, None]], axis=1)


def _as_columns(codes: Floats, rests: Floats) -> Floats:
    return np.concatenate([-2 * codes, -2 * rests[:, None], np.ones_like(rests)[:, None]], axis=1)


def _squares(images: Floats) -> Floats:
    """The sums of squares that rounding is a share of."""
    squares: Floats = np.square(images - ORIGIN).sum(axis=1)
    return squares


def smallest(values: Floats, k: int) -> IntArray:
    """The columns of the k smallest values of each row, smallest first."""
    if k < values.shape[1]:
        some = np.argpartition(values, k - 1, axis=1)[:, :k]
    else:
        some = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    order = np.argsort(np.take_along_axis(values, some, 1), axis=1, kind="stable")
    return np.take_along_axis(some, order, 1).astype(np.int64, copy=False)
