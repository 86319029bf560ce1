"""The codes of a shelf in RAM, and the scan over them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray, rng_at
from everlearn.serialization import pack, unpack
from everlearn.shapes.jit import compiled, inlined

Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]

CODE_BYTES = 64
MOST = 127
SPARE, ROUNDS = 16, 4
"""Directions sought beyond those kept, and how often the search for them is sharpened."""
PIECE = 4096
"""Images encoded at once."""


@dataclass(frozen=True, eq=False)
class Coder:
    """Turns images into 64 bytes each, whose distances are nearly those of the images.

    The bytes are an image's places along the principal directions of the images the coder was fitted to,
    largest differences first, in whole steps. Images of few pixels have fewer directions, and zeros after.

    Attributes:
        middle: (pixels,) the mean image.
        directions: (at most 64, pixels) orthonormal.
        step: what one unit of a code stands for.

    Example:
        >>> images = np.eye(8, dtype=np.uint8).reshape(8, 2, 4) * 100
        >>> Coder.fit(images).encode(images).shape
        (8, 64)
    """

    middle: Floats
    directions: Floats
    step: float

    @classmethod
    def fit(cls, images: npt.NDArray[np.uint8]) -> "Coder":
        """The coder for images (n, ...) like these; n should be a few thousand."""
        flat = images.reshape(len(images), -1).astype(np.float32)
        middle = flat.mean(axis=0, dtype=np.float64).astype(np.float32)
        flat -= middle
        directions = _principal(flat, min(CODE_BYTES, *flat.shape))
        farthest = float(np.abs(flat @ directions.T).max())
        return cls(middle, directions, max(farthest, 1.0) / MOST)

    def encode(self, images: AnyArray) -> Codes:
        """Codes (n, 64) of images (n, ...)."""
        codes = np.zeros((len(images), CODE_BYTES), np.int8)
        for start in range(0, len(images), PIECE):
            some = images[start : start + PIECE]
            flat = some.reshape(len(some), -1).astype(np.float32) - self.middle
            places = flat @ self.directions.T / np.float32(self.step)
            codes[start : start + PIECE, : places.shape[1]] = np.rint(places).clip(-MOST, MOST)
        return codes

    def to_bytes(self) -> bytes:
        """All of it, for a file."""
        return pack({"middle": self.middle, "directions": self.directions, "step": self.step})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Coder":
        """The coder that was written to a file."""
        try:
            return cls(**unpack(data))
        except TypeError:
            raise BadInput("this is no coder of a shelf; use a copy of the shelf") from None


def _principal(flat: Floats, n: int) -> Floats:
    """The n orthonormal directions (n, pixels) along which rows differ most, largest differences first.

    A random space is multiplied by the rows' covariance until it lies along them (randomised subspace
    iteration): a second instead of the minute that all directions take, of which we need few.
    """
    width = min(n + SPARE, *flat.shape)
    start = rng_at(0, "directions").normal(flat.shape[1] * width).reshape(-1, width)
    space = np.linalg.qr(start.astype(np.float32))[0]
    for _ in range(ROUNDS):
        space = np.linalg.qr(flat.T @ (flat @ space))[0]
    seen = flat @ space
    _, turned = np.linalg.eigh(seen.T @ seen)
    directions: Floats = np.ascontiguousarray((space @ turned[:, ::-1][:, :n]).T)
    return directions


CodeDistances = npt.NDArray[np.int32]

BLOCK = 4096
"""Rows that stay near the processor while all queries pass over them."""
HEAD = 8
"""Bytes of a code that are compared first; most codes turn out too far by these alone."""
FAR = np.iinfo(np.int32).max
FREE = -1
"""The label of a row that holds nothing."""


class CodeTable:
    """A label and a code for each row, in blocks whose heads lie byte by byte: so the scan is fast.

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
        """How many rows there are, free ones included."""
        return self._n

    @property
    def labels(self) -> IntArray:
        """The label of each row, -1 where it is free: read-only, not a copy, good until the next write."""
        view = self._labels.reshape(-1)[: self._n]
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return self._labels.nbytes + self._heads.nbytes + self._tails.nbytes

    def write(self, rows: IntArray, labels: IntArray, codes: Codes) -> None:
        """Put labels and codes into rows; what lies between the last one and these becomes free."""
        if not len(rows):
            return
        self._make_room(int(rows.max()) + 1)
        block, place = np.divmod(rows, BLOCK)
        self._labels[block, place] = labels
        self._heads[block, :, place] = codes[:, :HEAD]
        self._tails[block, place] = codes[:, HEAD:]

    def nearest(self, queries: Codes, k: int) -> IntArray:
        """The k rows with the nearest codes to each query, nearest first; k rows must not be free."""
        distances = np.full((len(queries), k), FAR, np.int32)
        rows = np.zeros((len(queries), k), np.int64)
        _scan(self._heads, self._tails, self._labels, queries, distances, rows)
        return np.take_along_axis(rows, np.lexsort((rows, distances)), 1)

    def _make_room(self, n: int) -> None:
        self._n, room = max(n, self._n), len(self._labels)
        needed = -(-self._n // BLOCK)
        if needed > room:
            room = max(needed, room + room // 4)
            self._labels = _grown(self._labels, room, FREE)
            self._heads, self._tails = _grown(self._heads, room, 0), _grown(self._tails, room, 0)


def _grown(blocks: AnyArray, room: int, filling: int) -> AnyArray:
    grown = np.full((room, *blocks.shape[1:]), filling, blocks.dtype)
    grown[: len(blocks)] = blocks
    return grown


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
            _admit(sums, tails[block], labels[block], block, query[HEAD:], distances[i], rows[i])


@compiled
def _add_squares(numbers: npt.NDArray[np.int8], number: np.int32, sums: CodeDistances) -> None:
    # Numba would compute in 64 bits, four at a time instead of eight, were it not told otherwise.
    for i in range(len(numbers)):
        difference = np.int32(np.int32(numbers[i]) - number)
        sums[i] = np.int32(sums[i] + np.int32(difference * difference))


@compiled
def _admit(
    sums: CodeDistances,
    tails: npt.NDArray[np.int8],
    labels: IntArray,
    block: int,
    query: Codes,
    distances: CodeDistances,
    rows: IntArray,
) -> None:
    """Let the codes of a block into a heap of the nearest, whose first is the farthest of them."""
    for i in range(len(sums)):
        if sums[i] >= distances[0] or labels[i] == FREE:
            continue
        distance = sums[i] + _squares(tails[i], query)
        if distance < distances[0]:
            _sift(distances, rows, distance, block * BLOCK + i)


@inlined
def _squares(code: Codes, query: Codes) -> np.int32:
    total = np.int32(0)
    for j in range(CODE_BYTES - HEAD):
        difference = np.int32(np.int32(code[j]) - np.int32(query[j]))
        total = np.int32(total + np.int32(difference * difference))
    return total


@compiled
def _sift(distances: CodeDistances, rows: IntArray, distance: int, row: int) -> None:
    """Put a nearer one in the place of the farthest."""
    place, n = 0, len(distances)
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and distances[child + 1] > distances[child]:
            child += 1
        if distances[child] <= distance:
            break
        distances[place], rows[place] = distances[child], rows[child]
        place = child
    distances[place], rows[place] = distance, row
