"""Short codes of images in RAM, and the scan over them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray, rng_at
from everlearn.serialization import pack, unpack
from everlearn.shapes.jit import compiled, inlined

Codes = npt.NDArray[np.int8]
CodeDistances = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

CODE_BYTES = 64
MAX_CODE = 127
OVERSAMPLING, POWER_ITERATIONS = 16, 4
"""Additional dimensions and iterations of the randomized PCA."""
ENCODE_BATCH = 4096
"""Images encoded together."""
BLOCK = 4096
"""Rows that stay in the processor's cache while all queries are compared with them."""
HEAD = 8
"""Leading bytes of a code that are compared first; most codes are rejected by these alone."""
MAX_DISTANCE = np.iinfo(np.int32).max
FREE = -1
"""Label of an empty row."""


@dataclass(frozen=True, eq=False)
class PCACoder:
    """Encodes images as 64 bytes whose distances approximate those of the images.

    The bytes are the quantized coordinates along the principal components of the images that the coder was
    fitted to, largest variance first. Images of few pixels have fewer components, padded with zeros.

    Example:
        >>> images = np.eye(8, dtype=np.uint8).reshape(8, 2, 4) * 100
        >>> PCACoder.fit(images).encode(images).shape
        (8, 64)
    """

    mean: Floats  # (pixels,) the mean image
    components: Floats  # (at most 64, pixels), orthonormal
    step: float  # quantization step

    @classmethod
    def fit(cls, images: npt.NDArray[np.uint8]) -> "PCACoder":
        """Fit to images (n, ...); n should be a few thousand."""
        flat = images.reshape(len(images), -1).astype(np.float32)
        mean = flat.mean(axis=0, dtype=np.float64).astype(np.float32)
        flat -= mean
        components = _principal_components(flat, min(CODE_BYTES, *flat.shape))
        largest = float(np.abs(flat @ components.T).max())
        return cls(mean, components, max(largest, 1.0) / MAX_CODE)

    def encode(self, images: AnyArray) -> Codes:
        """Codes (n, 64) of images (n, ...)."""
        codes = np.zeros((len(images), CODE_BYTES), np.int8)
        for start in range(0, len(images), ENCODE_BATCH):
            some = images[start : start + ENCODE_BATCH]
            flat = some.reshape(len(some), -1).astype(np.float32) - self.mean
            levels = np.rint(flat @ self.components.T / np.float32(self.step))
            codes[start : start + ENCODE_BATCH, : levels.shape[1]] = levels.clip(-MAX_CODE, MAX_CODE)
        return codes

    def to_bytes(self) -> bytes:
        """The content of a file."""
        return pack({"mean": self.mean, "components": self.components, "step": self.step})

    @classmethod
    def from_bytes(cls, data: bytes) -> "PCACoder":
        """Read the content of a file."""
        try:
            return cls(**unpack(data))
        except TypeError:
            raise BadInput("the coder of this memory is damaged; use a copy of the memory") from None


def _principal_components(flat: Floats, n: int) -> Floats:
    """The first n principal components (n, pixels) of centered rows, by randomized subspace iteration.

    Takes a second instead of the minute of a full decomposition.
    """
    width = min(n + OVERSAMPLING, *flat.shape)
    start = rng_at(0, "directions").normal(flat.shape[1] * width).reshape(-1, width)
    space = np.linalg.qr(start.astype(np.float32))[0]
    for _ in range(POWER_ITERATIONS):
        space = np.linalg.qr(flat.T @ (flat @ space))[0]
    projected = flat @ space
    _, rotation = np.linalg.eigh(projected.T @ projected)
    return np.ascontiguousarray((space @ rotation[:, ::-1][:, :n]).T)


class CodeTable:
    """Labels and codes, in blocks whose leading bytes are stored byte by byte for a fast scan.

    Example:
        >>> table = CodeTable()
        >>> table.write(np.array([0, 1, 3]), np.array([7, 8, 9]), np.eye(3, 64, dtype=np.int8))
        >>> table.nearest(np.eye(3, 64, dtype=np.int8)[2:], 1)
        array([[3]])
        >>> table.labels
        array([ 7,  8, -1,  9])
    """

    def __init__(self) -> None:
        self._n = 0
        self._labels = np.zeros((0, BLOCK), np.int64)
        self._heads = np.zeros((0, HEAD, BLOCK), np.int8)
        self._tails = np.zeros((0, BLOCK, CODE_BYTES - HEAD), np.int8)

    def __len__(self) -> int:
        """Number of rows, including free ones."""
        return self._n

    @property
    def labels(self) -> IntArray:
        """The label of each row, -1 if it is free; a read-only view, valid until the next write."""
        view = self._labels.reshape(-1)[: self._n]
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        """Allocated bytes."""
        return self._labels.nbytes + self._heads.nbytes + self._tails.nbytes

    def write(self, rows: IntArray, labels: IntArray, codes: Codes) -> None:
        """Write labels and codes into rows; skipped rows are free."""
        if not len(rows):
            return
        self._reserve(int(rows.max()) + 1)
        block, offset = np.divmod(rows, BLOCK)
        self._labels[block, offset] = labels
        self._heads[block, :, offset] = codes[:, :HEAD]
        self._tails[block, offset] = codes[:, HEAD:]

    def nearest(self, queries: Codes, k: int) -> IntArray:
        """The k rows with the codes nearest to each query, nearest first; at least k rows must be used."""
        distances = np.full((len(queries), k), MAX_DISTANCE, np.int32)
        rows = np.zeros((len(queries), k), np.int64)
        _scan(self._heads, self._tails, self._labels, queries, distances, rows)
        return np.take_along_axis(rows, np.lexsort((rows, distances)), 1)

    def _reserve(self, n: int) -> None:
        self._n, capacity = max(n, self._n), len(self._labels)
        needed = -(-self._n // BLOCK)
        if needed > capacity:
            capacity = max(needed, capacity + capacity // 4)
            self._labels = _resized(self._labels, capacity, FREE)
            self._heads, self._tails = (_resized(each, capacity, 0) for each in (self._heads, self._tails))


def _resized(blocks: AnyArray, capacity: int, fill: int) -> AnyArray:
    resized = np.full((capacity, *blocks.shape[1:]), fill, blocks.dtype)
    resized[: len(blocks)] = blocks
    return resized


@compiled
def _scan(
    heads: npt.NDArray[np.int8],
    tails: npt.NDArray[np.int8],
    labels: IntArray,
    queries: Codes,
    distances: CodeDistances,
    rows: IntArray,
) -> None:
    sums = np.zeros(BLOCK, np.int32)
    for block in range(len(heads)):
        for i in range(len(queries)):
            query = queries[i]
            sums[:] = 0
            for j in range(HEAD):
                _add_squares(heads[block, j], np.int32(query[j]), sums)
            _update_heap(sums, tails[block], labels[block], block, query[HEAD:], distances[i], rows[i])


@compiled
def _add_squares(codes: npt.NDArray[np.int8], query: np.int32, sums: CodeDistances) -> None:
    # Explicit int32: by default numba computes in 64 bits, with half the SIMD lanes.
    for i in range(len(codes)):
        difference = np.int32(np.int32(codes[i]) - query)
        sums[i] = np.int32(sums[i] + np.int32(difference * difference))


@compiled
def _update_heap(
    sums: CodeDistances,
    tails: npt.NDArray[np.int8],
    labels: IntArray,
    block: int,
    query: Codes,
    distances: CodeDistances,
    rows: IntArray,
) -> None:
    """Update a max-heap of the nearest codes with a block."""
    for i in range(len(sums)):
        if sums[i] >= distances[0] or labels[i] == FREE:
            continue
        distance = sums[i] + _squares(tails[i], query)
        if distance < distances[0]:
            _replace_root(distances, rows, distance, block * BLOCK + i)


@inlined
def _squares(code: Codes, query: Codes) -> np.int32:
    total = np.int32(0)
    for j in range(CODE_BYTES - HEAD):
        difference = np.int32(np.int32(code[j]) - np.int32(query[j]))
        total = np.int32(total + np.int32(difference * difference))
    return total


@compiled
def _replace_root(distances: CodeDistances, rows: IntArray, distance: int, row: int) -> None:
    """Replace the farthest entry of the heap."""
    node, n = 0, len(distances)
    while 2 * node + 1 < n:
        child = 2 * node + 1
        if child + 1 < n and distances[child + 1] > distances[child]:
            child += 1
        if distances[child] <= distance:
            break
        distances[node], rows[node] = distances[child], rows[child]
        node = child
    distances[node], rows[node] = distance, row
