"""Drawings of any size in one piece of memory, and how they are shown under factors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray, IntArray
from everlearn.factors import Factors
from everlearn.streams.batch import Images
from everlearn.streams.pictures.kernels import paint

# Rounding sines and cosines to this grid hides the last bits in which math libraries differ.
GRID = 2.0**24
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True, eq=False)
class Drawings:
    """Drawings laid end to end, so that a whole data set or a few odd sizes are warped alike.

    Attributes:
        pixels: all their bytes, flat.
        starts: (m,) where each begins.
        sizes: (m, 2) height and width of each.
        channels: 1 for ink (how much of a pixel is covered), 2 for gray and alpha, 4 for red, green,
            blue and alpha; colours are premultiplied by alpha.
    """

    pixels: npt.NDArray[np.uint8]
    starts: IntArray
    sizes: IntArray
    channels: int

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(cls, drawings: Sequence[npt.NDArray[np.uint8]]) -> "Drawings":
        """Gather drawings of shape (H, W, channels), at least one."""
        sizes = np.array([drawing.shape[:2] for drawing in drawings], np.int64)
        lengths = np.array([drawing.size for drawing in drawings], np.int64)
        flat = np.concatenate([drawing.ravel() for drawing in drawings])
        flat.setflags(write=False)  # as data sets are, so that the kernel is compiled once for both
        return cls(flat, np.cumsum(lengths) - lengths, sizes, drawings[0].shape[2])

    def __getitem__(self, i: int) -> npt.NDArray[np.uint8]:
        """One drawing: (H, W, channels)."""
        height, width = self.sizes[i]
        flat = self.pixels[self.starts[i] : self.starts[i] + height * width * self.channels]
        return flat.reshape(height, width, self.channels)

    def trimmed(self) -> "Drawings":
        """The drawings without empty margins; one that is all empty stays as it is."""
        return Drawings.of([_trimmed(self[i]) for i in range(len(self))])


def show(
    drawings: Drawings,
    which: IntArray,
    factors: Factors,
    *,
    image_size: int,
    drawn_size: int,
    background: int = 0,
    rgb: bool = False,
) -> Images:
    """Pictures of drawings under factors, one per row: (n, H, W) gray or (n, H, W, 3) colour.

    In canonical form a drawing stands upright in the middle, its longer side `drawn_size` pixels long;
    scale, turn and place then act as `Factors.matrices` says. The colour of the factors is the colour of
    the ink, or of the light that falls on a drawing that has colours of its own.

    Args:
        drawings: what may be shown.
        which: (n,) the number of the drawing in each row.
        factors: how each is shown.
        image_size: the side of the canvas in pixels.
        drawn_size: the longer side of a drawing in canonical form, in pixels.
        background: the gray level of the bare canvas, 0 to 255.
        rgb: three colours instead of gray.

    Example:
        >>> ink = Drawings.of([np.full((2, 2, 1), 200, np.uint8)])
        >>> show(ink, np.array([0]), Factors(), image_size=4, drawn_size=2)[0]
        array([[  0,   0,   0,   0],
               [  0, 200, 200,   0],
               [  0, 200, 200,   0],
               [  0,   0,   0,   0]], dtype=uint8)
    """
    colours = factors.colour if rgb else _luminance(factors.colour)
    out = np.empty((len(which), image_size, image_size, colours.shape[1]), np.uint8)
    paint(
        drawings.pixels,
        drawings.starts,
        drawings.sizes,
        drawings.channels,
        which,
        _poses(drawings.sizes[which], factors, image_size, drawn_size),
        colours,
        np.full(colours.shape[1], float(background)),
        out,
    )
    return out if rgb else out[..., 0]


def _trimmed(drawing: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    covered = drawing[..., -1] > 0
    rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
    if not len(rows):
        return drawing
    return drawing[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _poses(sizes: IntArray, factors: Factors, image_size: int, drawn_size: int) -> FloatArray:
    """Centre on the canvas, then cos and sin times drawing pixels per canvas pixel: (n, 4)."""
    per_pixel = sizes.max(axis=1) / (drawn_size * factors.scale)
    cos = np.round(np.cos(factors.angle) * GRID) / GRID
    sin = np.round(np.sin(factors.angle) * GRID) / GRID
    place = [(0.25 + 0.5 * p) * image_size for p in (factors.x, factors.y)]
    return np.stack([*place, cos * per_pixel, sin * per_pixel], axis=1)


def _luminance(colour: FloatArray) -> FloatArray:
    red, green, blue = (colour[:, i] * LUMINANCE[i] for i in range(3))
    # White must stay exactly white, though the three weights need not add up to 1 in floating point.
    return np.minimum(np.round((red + green + blue) * GRID) / GRID, 1.0)[:, None]
