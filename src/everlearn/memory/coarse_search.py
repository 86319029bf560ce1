"""Candidates from many codes: lower bounds from a few principal components exclude nearly all of them.

The projection of codes to an orthonormal basis, and the norm of what it loses, give lower bounds of their
distances. Codes whose bound exceeds the k-th smallest distance found so far are not compared.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.blas import blas_threads
from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled_in_place

Floats = npt.NDArray[np.float32]

MIN_ROWS = 2048
"""Fewer codes are all compared."""
N_COMPONENTS = 48
GROWTH = 8
"""The basis is computed again when there are this many times as many codes."""
CHUNK_BYTES = 1 << 24
"""Bounds that are computed together: many queries for each pass over the codes."""
BLOCK = 32
"""Bounds that are compared with a limit at once."""
N_SUMS = 16
SLACK = 1e-5
"""Tolerance for rounding of float32 sums, as a share of the squares that were added."""


class CoarseCodes:
    """Projections of codes (n, d + 2): d values, the norm that pooling lost, and the squared norm of all."""

    def __init__(self, codes: Floats) -> None:
        values = codes[:, :-2].astype(np.float64)
        self._mean = values.mean(axis=0)
        _, vectors = np.linalg.eigh(np.cov((values - self._mean).T))
        self._basis = vectors[:, -N_COMPONENTS:]
        # In columns, since the matrix product would otherwise transpose them in every call.
        self.n_first, self._columns = len(codes), np.ascontiguousarray(self._project(codes).T)

    @property
    def nbytes(self) -> int:
        """Bytes of the projections."""
        return self._columns.nbytes

    def update(self, codes: Floats, changed: IntArray, n_kept: int) -> None:
        """Update the projections after some rows of `codes` have changed; the first `n_kept` others stay."""
        columns = np.zeros((len(self._columns), len(codes)), np.float32)
        columns[:, :n_kept] = self._columns[:, :n_kept]
        columns[:, changed] = self._project(codes[changed]).T
        self._columns = columns

    def candidates(self, queries: Floats, codes: Floats, k: int) -> tuple[IntArray, Floats]:
        """The k rows of `codes` with the smallest distances to queries of the same layout, nearest first."""
        with blas_threads(1):  # more threads would take longer
            return self._candidates(queries, codes, k)

    def _candidates(self, queries: Floats, codes: Floats, k: int) -> tuple[IntArray, Floats]:
        rows, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
        projected = self._project(queries)
        sides = np.concatenate([-2 * projected[:, :-1], np.ones((len(queries), 1), np.float32)], axis=1)
        step = max(1, min(CHUNK_BYTES // (4 * len(codes)), len(queries)))
        bounds, first = np.empty((step, len(codes)), np.float32), np.zeros(k, np.int64)
        sums = np.empty(N_SUMS, np.float32)
        slack = np.float32(SLACK * float(self._columns[-1].max()))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            own_bounds = np.matmul(sides[part], self._columns, out=bounds[: len(sides[part])])
            limits = slack - projected[part, -1]
            select(queries[part], codes, own_bounds, limits, rows[part], distances[part], first, sums)
        return rows, distances

    def _project(self, codes: Floats) -> Floats:
        """Components, lost norm of the projection, lost norm of the code, and the sum of their squares."""
        centered = codes[:, :-2].astype(np.float64) - self._mean
        components = centered @ self._basis
        lost = np.square(centered).sum(1) - np.square(components).sum(1)
        parts = [components, np.sqrt(np.maximum(lost, 0))[:, None], codes[:, -2:-1]]
        vectors: npt.NDArray[Any] = np.concatenate(parts, axis=1)
        return np.concatenate([vectors, np.square(vectors).sum(1)[:, None]], axis=1).astype(np.float32)


@compiled_in_place
def select(
    queries: Floats, codes: Floats, bounds: Floats, limits: Floats, rows: IntArray, distances: Floats,
    first: IntArray, sums: Floats,
) -> None:  # fmt: skip
    """The nearest codes of each query, of those whose bounds exceed the k-th distance by at most a limit."""
    k = rows.shape[1]
    for i in range(len(queries)):
        keep_smallest(bounds[i], first, distances[i])
        distances[i] = np.inf
        for row in first:  # those with the smallest bounds, so that the limit for the others is small
            insert(squared_distance(queries[i], codes[row], sums), row, rows[i], distances[i])
            bounds[i, row] = np.inf  # done
        for start in range(0, len(codes), BLOCK):
            if any_at_most(bounds[i, start : start + BLOCK], distances[i, k - 1] + limits[i]):
                for row in range(start, min(start + BLOCK, len(codes))):
                    if bounds[i, row] <= distances[i, k - 1] + limits[i]:
                        insert(squared_distance(queries[i], codes[row], sums), row, rows[i], distances[i])


@compiled_in_place
def keep_smallest(values: Floats, rows: IntArray, kept: Floats) -> None:
    """The smallest values and their positions, smallest first, equal ones in the order of positions."""
    kept[:] = np.inf
    last = len(kept) - 1
    for start in range(0, len(values), BLOCK):
        if any_at_most(values[start : start + BLOCK], kept[last]):
            for j in range(start, min(start + BLOCK, len(values))):
                if values[j] < kept[last]:
                    insert(values[j], j, rows, kept)


@compiled_in_place
def any_at_most(values: Floats, limit: np.float32) -> bool:
    """Whether any value is at most the limit; counting needs no branches, so that it is vectorized."""
    n = 0
    for j in range(len(values)):
        n += values[j] <= limit
    return n > 0


@compiled_in_place
def insert(value: np.float32, row: int, rows: IntArray, kept: Floats) -> None:
    """Insert a value into a sorted list and drop the last one; larger values are ignored."""
    rank = len(kept) - 1
    if not value < kept[rank]:
        return
    while rank > 0 and value < kept[rank - 1]:
        kept[rank], rows[rank] = kept[rank - 1], rows[rank - 1]
        rank -= 1
    kept[rank], rows[rank] = value, row


@compiled_in_place
def squared_distance(query: Floats, code: Floats, sums: Floats) -> np.float32:
    """The squared distance of two codes, without their last values; several sums at a time."""
    n, total = len(query) - 1, np.float32(0)
    sums[:] = np.float32(0)
    for start in range(0, n - N_SUMS + 1, N_SUMS):
        for j in range(N_SUMS):
            difference = query[start + j] - code[start + j]
            sums[j] += difference * difference
    for j in range(n - n % N_SUMS, n):
        total += (query[j] - code[j]) * (query[j] - code[j])
    for j in range(N_SUMS):
        total += sums[j]
    return total
