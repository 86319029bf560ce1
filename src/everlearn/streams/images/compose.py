"""Drawings of any size in one piece of memory, and how they are shown under factors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from everlearn.factors import Factors
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.stream import Images

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A ratio of sizes that is a whole number in truth must not gain or lose a sample by its last bit.
SLACK = 1e-6


@njit(cache=True, nogil=True)
def paint(
    pixels: Pixels,  # all drawings, end to end
    starts: Ints,  # (m,) where each begins
    sizes: Ints,  # (m, 2) height and width
    channels: int,
    which: Ints,  # (n,) the drawing of each canvas
    poses: Floats,  # (n, 4) centre x, y on the canvas; cos, sin times drawing pixels per canvas pixel
    colours: Floats,  # (n, c)
    background: Floats,  # (c,) 0..255
    out: Pixels,  # (n, H, W, c)
) -> None:
    """Paint one drawing on each canvas of `out`."""
    if len(out) == 0:
        return
    planes = np.zeros((channels, sizes[:, 0].max() + 2, sizes[:, 1].max() + 2), np.float64)
    loaded, loaded_block = -1, 0
    for row in range(len(out)):
        drawing, cos, sin = which[row], poses[row, 2], poses[row, 3]
        height, width = sizes[drawing]
        step = math.sqrt(cos * cos + sin * sin)
        block = max(1, int(min(step + SLACK, float(max(height, width)))))
        if drawing != loaded or block != loaded_block:
            _load(pixels, starts[drawing], height, width, block, planes)
            loaded, loaded_block = drawing, block
        _paint_one(planes, height, width, block, poses[row], colours[row], background, out[row])


@njit(cache=True, nogil=True)
def _load(pixels: Pixels, start: int, height: int, width: int, block: int, planes: Floats) -> None:
    """Average a drawing over blocks into `planes`, with a border of nothing one pixel wide.

    Blocks that hang over the edge count what is beyond it as nothing, so that no edge moves.
    """
    channels = len(planes)
    rows, columns = -(-height // block), -(-width // block)
    planes[:, : rows + 2, : columns + 2] = 0.0
    share = 1.0 / (block * block)
    for row in range(height):
        to = row // block + 1
        for column in range(columns):
            for source in range(column * block, min((column + 1) * block, width)):
                place = start + (row * width + source) * channels
                for c in range(channels):
                    planes[c, to, column + 1] += share * pixels[place + c]


@njit(cache=True, nogil=True)
def _paint_one(
    planes: Floats,
    height: int,
    width: int,
    block: int,
    pose: Floats,
    colour: Floats,
    background: Floats,
    canvas: Pixels,
) -> None:
    """Lay a loaded drawing over the background; its last channel says how much it covers.

    A single channel is ink: it covers, and it carries the colour.
    """
    for c in range(canvas.shape[2]):
        canvas[:, :, c] = np.uint8(background[c] + 0.5)
    x, y, cos, sin = pose[0], pose[1], pose[2] / block, pose[3] / block
    step = math.sqrt(cos * cos + sin * sin)
    taps = 1 if step < 1.0 + SLACK else 2
    rows, columns = -(-height // block), -(-width // block)
    middle_u, middle_v = 0.5 * width / block + 0.5, 0.5 * height / block + 0.5  # counting the border
    last = len(planes) - 1
    top, bottom, left, right = _reach(rows, columns, pose, block, canvas.shape[0], canvas.shape[1])
    for row in range(top, bottom):
        for column in range(left, right):
            dx, dy = column + 0.5 - x, row + 0.5 - y
            u, v = middle_u + cos * dx + sin * dy, middle_v + cos * dy - sin * dx
            cover = _light(planes, last, rows, columns, u, v, cos, sin, taps)
            if cover == 0.0:
                continue
            bare = 1.0 - cover / 255.0
            for c in range(canvas.shape[2]):
                plane = min(c, max(last - 1, 0))
                ink = _light(planes, plane, rows, columns, u, v, cos, sin, taps) if plane < last else cover
                light = ink * colour[c] + bare * background[c]
                canvas[row, column, c] = np.uint8(min(max(light, 0.0), 255.0) + 0.5)


@njit(cache=True, nogil=True)
def _reach(
    rows: int, columns: int, pose: Floats, block: int, canvas_rows: int, canvas_columns: int
) -> tuple[int, int, int, int]:
    """The part of the canvas that a drawing can touch: top, bottom, left, right."""
    x, y, cos, sin = pose[0], pose[1], abs(pose[2]) / block, abs(pose[3]) / block
    area = cos * cos + sin * sin
    half_u, half_v = 0.5 * columns + 1.0, 0.5 * rows + 1.0
    reach_x = (cos * half_u + sin * half_v) / area + 1.0
    reach_y = (sin * half_u + cos * half_v) / area + 1.0
    return (
        int(min(max(y - reach_y, 0.0), float(canvas_rows))),
        int(min(max(y + reach_y + 1.0, 0.0), float(canvas_rows))),
        int(min(max(x - reach_x, 0.0), float(canvas_columns))),
        int(min(max(x + reach_x + 1.0, 0.0), float(canvas_columns))),
    )


@njit(cache=True, nogil=True)
def _light(
    planes: Floats, c: int, rows: int, columns: int, u: float, v: float, cos: float, sin: float, taps: int
) -> float:
    """The mean light of one channel over the samples of the canvas pixel centred on (u, v)."""
    total = 0.0
    for i in range(taps):
        y = 0.25 * (2 * i + 1 - taps)
        for j in range(taps):
            x = 0.25 * (2 * j + 1 - taps)
            a, b = u + cos * x + sin * y, v + cos * y - sin * x
            if 0.0 <= a < columns + 1 and 0.0 <= b < rows + 1:
                left, top = int(a), int(b)
                p, q = a - left, b - top
                upper = planes[c, top, left] * (1.0 - p) + planes[c, top, left + 1] * p
                lower = planes[c, top + 1, left] * (1.0 - p) + planes[c, top + 1, left + 1] * p
                total += upper * (1.0 - q) + lower * q
    return total if taps == 1 else 0.25 * total


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
    """Images of drawings under factors, one per row: (n, H, W) gray or (n, H, W, 3) colour.

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
