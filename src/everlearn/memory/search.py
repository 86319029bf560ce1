"""Exact nearest-neighbor search in an exemplar memory, by lower bounds from pooled images."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.memory.coarse_search import GROWTH, MIN_ROWS, CoarseCodes
from everlearn.memory.exemplars import ExemplarMemory
from everlearn.memory.robust_search import robust_distances
from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled

Floats = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

MAX_COARSE = 256
"""Candidates up to which a coarse search is used."""
FIRST_CANDIDATES = 24
"""Candidates compared by pixels before more are requested."""
MAX_DISTANCES = 1 << 22
"""Bounded distances that are computed together."""
OFFSET = np.float32(168)
"""Gray level subtracted from images, near the background of most: short vectors round better."""
SCAN_CHUNK = 256
"""Pixels compared before a candidate can be abandoned."""
SLACK = 1e-5
"""Tolerance for rounding of float32 sums, as a share of the squares that were added."""


class NearestIndex:
    """Pooled codes of all images of a memory, updated incrementally with its edits.

    The code of an image is its average over blocks of pixels, and the norm of what averaging lost. Distances
    of codes are lower bounds of distances of images, so a search is exact once the worst exact distance is
    below the smallest bound of all other images.

    Args:
        block: pixels along the side of a block; 1 compares whole images.

    Example:
        >>> from everlearn.streams import Batch
        >>> memory, index = ExemplarMemory(), NearestIndex(block=4)
        >>> memory.add(Batch(np.full((2, 16, 16), 9, np.uint8), np.array([3, 7])))
        >>> memory.forget(3)
        1
        >>> index.update(memory)
        True
        >>> rows, distances = index.nearest(memory.images.astype(np.float32), 1)
        >>> memory.labels[rows[0]], float(distances[0, 0])
        (array([7]), 0.0)
    """

    def __init__(self, *, block: int = 4) -> None:
        self.block = block
        self._memory, self._version = ExemplarMemory(), -1
        self._codes: Floats = np.zeros((0, 0), np.float32)
        self._coarse: CoarseCodes | None = None

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes."""
        return self._codes.nbytes + (0 if self._coarse is None else self._coarse.nbytes)

    def update(self, memory: ExemplarMemory) -> bool:
        """Index a memory; returns whether it changed. Costs O(images edited since the last call)."""
        if memory is not self._memory or memory.version < self._version:
            self._memory, self._version, self._codes, self._coarse = memory, -1, self._codes[:0], None
        if memory.version == self._version:
            return False
        rows, kept = memory.changed_since(self._version), self._codes[: len(memory)]
        if len(rows):
            new = self._encode(memory.images[rows])
            # A new array, so that no code of a removed image stays in unused capacity.
            self._codes = np.zeros((len(memory), new.shape[1]), np.float32)
            self._codes[: len(kept), : kept.shape[1]] = kept
            self._codes[rows] = new
        else:
            self._codes = kept.copy()
        self._version = memory.version
        self._update_coarse(rows, len(kept))
        return True

    def _update_coarse(self, rows: IntArray, n_kept: int) -> None:
        n = len(self._codes)
        if n < MIN_ROWS:
            self._coarse = None
        elif self._coarse is None or n > GROWTH * self._coarse.n_first:
            self._coarse = CoarseCodes(self._codes)
        else:
            self._coarse.update(self._codes, rows, n_kept)

    def candidates(self, images: Floats, k: int) -> tuple[IntArray, Floats]:
        """The k rows of the memory with the nearest codes, nearest first, and the distances of the codes."""
        if self._coarse is not None and k <= MAX_COARSE:
            return self._coarse.candidates(self._encode(images), self._codes, k)
        bounds = self._bounds(images)
        rows = smallest(bounds, min(k, len(self)))
        return rows, np.take_along_axis(bounds, rows, 1)

    def robust_candidates(
        self, images: Floats, k: int, scales: Distances, background: Distances
    ) -> tuple[IntArray, Floats]:
        """The k rows with the smallest bounded distances of codes, minus those of a plain image.

        Args:
            images: (n, H, W) or (n, H, W, C).
            k: rows of each image.
            scales: (n,) gray levels above which the difference of a block counts little.
            background: (C,) gray levels of the plain image.
        """
        k, d = min(k, len(self)), self._codes.shape[1] - 2
        rows, distances = np.empty((len(images), k), np.int64), np.empty((len(images), k), np.float32)
        plain = np.tile(background - OFFSET, d // len(background)).astype(np.float32)[None] * self.block
        step = max(1, MAX_DISTANCES // len(self))
        for start in range(0, len(images), step):
            some = slice(start, start + step)
            codes, own_scales = self._encode(images[some]), scales[some] * self.block
            found = robust_distances(codes, self._codes, own_scales, d)
            found -= robust_distances(codes, plain, own_scales, d)
            rows[some] = smallest(found, k)
            distances[some] = np.take_along_axis(found, rows[some], 1)
        return rows, distances

    def nearest(self, images: Floats, k: int) -> tuple[IntArray, Distances]:
        """The k nearest rows of the memory, nearest first, and the squared distances of pixels."""
        k, bounds = min(k, len(self)), self._bounds(images)
        rows, distances = np.zeros((len(images), k), np.int64), np.zeros((len(images), k))
        if not k:
            return rows, distances
        exemplars = self._memory.images.reshape(len(self), -1)
        queries = images.reshape(len(images), -1)
        pending, n = np.arange(len(images)), FIRST_CANDIDATES + k
        while len(pending):
            some = smallest(bounds[pending], min(n, len(self)))
            slack = SLACK * np.square(queries[pending] - OFFSET).sum(axis=1)[:, None]
            limits = np.take_along_axis(bounds[pending], some, 1) - slack
            exact = [
                scan(queries[i], exemplars, some[j], limits[j], rows[i], distances[i])
                for j, i in enumerate(pending)
            ]
            pending = pending[~np.array(exact) & (n < len(self))]
            n *= 8
        return rows, distances

    def _bounds(self, images: Floats) -> Floats:
        """Squared distances of codes, (n, rows): lower bounds of squared distances of images."""
        query = self._encode(images)
        own = query[:, -1:].copy()
        # The product with a row of codes is the squared distance minus the query's own squared norm.
        query *= np.float32(-2)
        query[:, -1] = 1
        bounds: Floats = query @ self._codes.T
        bounds += own
        return bounds

    def _encode(self, images: npt.NDArray[Any]) -> Floats:
        """Codes, the norms of what pooling lost, and squared norms of both, (n, d + 2)."""
        codes, lost = encode(images, self.block)
        own = np.einsum("nd,nd->n", codes, codes) + np.square(lost)
        return np.concatenate([codes, lost[:, None], own[:, None]], axis=1)


@compiled
def scan(
    query: Floats,
    exemplars: npt.NDArray[np.uint8],
    candidates: IntArray,
    limits: Floats,
    rows: IntArray,
    distances: Distances,
) -> bool:
    """Compare candidates in order of their limits and keep the nearest; True if no other can be nearer.

    `limits` are lower bounds of the distances, in ascending order.
    """
    distances[:] = np.inf
    for candidate, limit in zip(candidates, limits):  # noqa: B905  (numba has no strict)
        if limit > distances[-1]:
            return True
        distance, start = 0.0, 0
        while start < len(query) and distance < distances[-1]:
            for pixel in range(start, min(start + SCAN_CHUNK, len(query))):
                difference = query[pixel] - np.float32(exemplars[candidate, pixel])
                distance += difference * difference
            start += SCAN_CHUNK
        rank = len(distances)
        while rank > 0 and distance < distances[rank - 1]:
            rank -= 1
        if rank < len(distances):
            distances[rank + 1 :] = distances[rank:-1].copy()
            rows[rank + 1 :] = rows[rank:-1].copy()
            distances[rank], rows[rank] = distance, candidate
    return False


def encode(images: npt.NDArray[Any], block: int) -> tuple[Floats, Floats]:
    """Codes (n, d), and the norm of what pooling lost (n,).

    Example:
        >>> codes, lost = encode(np.full((1, 4, 4), 169, np.uint8), 4)  # a gray level above the offset
        >>> codes, lost
        (array([[4.]], dtype=float32), array([0.], dtype=float32))
    """
    n, H, W = images.shape[:3]
    pixels = np.ascontiguousarray(images).reshape(n, H, W, -1)
    codes = np.zeros((n, -(-H // block), -(-W // block), pixels.shape[3]), np.float32)
    lost = np.empty(n, np.float32)
    encode_all(pixels, block, codes, lost)
    return codes.reshape(n, -1), lost


@compiled
def encode_all(pixels: npt.NDArray[Any], block: int, codes: Floats, lost: Floats) -> None:
    """Add up blocks of pixels in `codes`, which are zero, and divide the sums by the side of a block.

    Sums down the columns come first, since processors compute many of them at once.
    """
    n, H, W, C = pixels.shape
    sums, squares = np.empty(W * C, np.float32), np.empty(W * C, np.float32)
    for k in range(n):
        squares[:] = np.float32(0)
        for top in range(0, H, block):
            sums[:] = np.float32(0)
            for i in range(top, min(top + block, H)):
                add_row(pixels[k, i].reshape(-1), sums, squares)
            for j in range(W):
                for c in range(C):
                    codes[k, top // block, j // block, c] += sums[j * C + c]
        code, rest = codes[k].reshape(-1), 0.0
        for square in squares:
            rest += square
        for d in range(len(code)):
            code[d] /= np.float32(block)
            rest -= code[d] * code[d]
        lost[k] = math.sqrt(max(rest, 0.0))


@compiled
def add_row(row: npt.NDArray[Any], sums: Floats, squares: Floats) -> None:
    """Add a row of pixels, and their squares."""
    for j in range(len(row)):
        value = np.float32(row[j]) - OFFSET
        sums[j] += value
        squares[j] += value * value


def smallest(values: Floats, k: int) -> IntArray:
    """The columns of the k smallest values of each row, smallest first."""
    if k < values.shape[1]:
        some = np.argpartition(values, k - 1, axis=1)[:, :k]
    else:
        some = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    order = np.argsort(np.take_along_axis(values, some, 1), axis=1, kind="stable")
    return np.take_along_axis(some, order, 1).astype(np.int64, copy=False)
