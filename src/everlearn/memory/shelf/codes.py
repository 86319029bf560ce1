"""Compact codes of pictures: where they lie along the directions in which pictures differ most."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.chance import draws
from everlearn.errors import BadInput
from everlearn.memory.packing import pack, unpack
from everlearn.memory.rows import AnyArray

Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]

CODE_BYTES = 64
MOST = 127
SPARE, ROUNDS = 16, 4
"""Directions sought beyond those kept, and how often the search for them is sharpened."""
PIECE = 4096
"""Pictures encoded at once."""


@dataclass(frozen=True, eq=False)
class Coder:
    """Turns pictures into 64 bytes each, whose distances are nearly those of the pictures.

    The bytes are a picture's places along the principal directions of the pictures the coder was fitted to,
    largest differences first, in whole steps. Pictures of few pixels have fewer directions, and zeros after.

    Attributes:
        middle: (pixels,) the mean picture.
        directions: (at most 64, pixels) orthonormal.
        step: what one unit of a code stands for.

    Example:
        >>> pictures = np.eye(8, dtype=np.uint8).reshape(8, 2, 4) * 100
        >>> Coder.fit(pictures).encode(pictures).shape
        (8, 64)
    """

    middle: Floats
    directions: Floats
    step: float

    @classmethod
    def fit(cls, pictures: npt.NDArray[np.uint8]) -> "Coder":
        """The coder for pictures (n, ...) like these; n should be a few thousand."""
        flat = pictures.reshape(len(pictures), -1).astype(np.float32)
        middle = flat.mean(axis=0, dtype=np.float64).astype(np.float32)
        flat -= middle
        directions = _principal(flat, min(CODE_BYTES, *flat.shape))
        farthest = float(np.abs(flat @ directions.T).max())
        return cls(middle, directions, max(farthest, 1.0) / MOST)

    def encode(self, pictures: AnyArray) -> Codes:
        """Codes (n, 64) of pictures (n, ...)."""
        codes = np.zeros((len(pictures), CODE_BYTES), np.int8)
        for start in range(0, len(pictures), PIECE):
            some = pictures[start : start + PIECE]
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
    start = draws(0, "directions").normal(flat.shape[1] * width).reshape(-1, width)
    space = np.linalg.qr(start.astype(np.float32))[0]
    for _ in range(ROUNDS):
        space = np.linalg.qr(flat.T @ (flat @ space))[0]
    seen = flat @ space
    _, turned = np.linalg.eigh(seen.T @ seen)
    directions: Floats = np.ascontiguousarray((space @ turned[:, ::-1][:, :n]).T)
    return directions
