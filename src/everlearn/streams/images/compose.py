"""Composition of raw images on canvases under factors, with a compiled resampling kernel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from everlearn.factors import Factors
from everlearn.factors.factors import rounded
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.stream import Images

# A ratio of sizes that is an integer must not gain or lose a sample through rounding.
TOLERANCE = 1e-6
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True, eq=False)
class RawImages:
    """Images of any size in one buffer: all bytes, the offset of each image, its height and width.

    There is 1 channel for coverage, 2 for gray and alpha, 4 for RGBA; colours are premultiplied by alpha.
    """

    pixels: Images
    starts: IntArray
    sizes: IntArray
    channels: int

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(cls, images: Sequence[Images]) -> "RawImages":
        """From images (H, W, channels), at least one."""
        sizes = np.array([image.shape[:2] for image in images], np.int64)
        lengths = np.array([image.size for image in images], np.int64)
        flat = np.concatenate([image.ravel() for image in images])
        flat.setflags(write=False)  # as in datasets, so that the kernel is compiled once for both
        return cls(flat, np.cumsum(lengths) - lengths, sizes, images[0].shape[2])

    def __getitem__(self, i: int) -> Images:
        """One image, (H, W, channels)."""
        height, width = self.sizes[i]
        flat = self.pixels[self.starts[i] : self.starts[i] + height * width * self.channels]
        return flat.reshape(height, width, self.channels)

    def trimmed(self) -> "RawImages":
        """The images without empty margins; an empty image is kept."""
        images = []
        for i in range(len(self)):
            covered = self[i][..., -1] > 0
            rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
            images.append(
                self[i][rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] if len(rows) else self[i]
            )
        return RawImages.of(images)


def compose(
    raw: RawImages,
    which: IntArray,
    factors: Factors,
    *,
    image_size: int,
    drawn_size: int,
    background: int = 0,
    rgb: bool = False,
) -> Images:
    """Compose raw images under factors: (n, H, W) gray or (n, H, W, 3) colour.

    Row i shows the raw image which[i]. In canonical pose it is upright and centered on a canvas of
    `image_size` pixels, and its longer side has `drawn_size` pixels. Scale, angle and position act as in
    `Factors.matrices`. The colour of the factors multiplies the colours of the image. The background is a
    gray level from 0 to 255.

    Example:
        >>> raw = RawImages.of([np.full((2, 2, 1), 200, np.uint8)])
        >>> compose(raw, np.array([0]), Factors(), image_size=4, drawn_size=2)[0]
        array([[  0,   0,   0,   0],
               [  0, 200, 200,   0],
               [  0, 200, 200,   0],
               [  0,   0,   0,   0]], dtype=uint8)
    """
    colours = factors.colour
    if not rgb:
        red, green, blue = (factors.colour[:, i] * LUMINANCE[i] for i in range(3))
        # White must stay exactly white, although the rounded weights need not sum to 1.
        colours = np.minimum(rounded(red + green + blue), 1.0)[:, None]
    out = np.empty((len(which), image_size, image_size, colours.shape[1]), np.uint8)
    per_pixel = raw.sizes[which].max(axis=1) / (drawn_size * factors.scale)
    cos, sin = rounded(np.cos(factors.angle)), rounded(np.sin(factors.angle))
    center = [(0.25 + 0.5 * p) * image_size for p in (factors.x, factors.y)]
    poses = np.stack([*center, cos * per_pixel, sin * per_pixel], axis=1)
    canvas = np.full(colours.shape[1], float(background))
    _compose(raw.pixels, raw.starts, raw.sizes, raw.channels, which, poses, colours, canvas, out)
    return out if rgb else out[..., 0]


@njit(cache=True, nogil=True)
def _compose(
    pixels: Images,  # all raw images, flat
    starts: IntArray,  # (m,) their offsets
    sizes: IntArray,  # (m, 2) height and width
    channels: int,
    which: IntArray,  # (n,) the raw image of each canvas
    poses: FloatArray,  # (n, 4) center x, y on the canvas; cos, sin times raw pixels per canvas pixel
    colours: FloatArray,  # (n, c)
    background: FloatArray,  # (c,) 0..255
    out: Images,  # (n, H, W, c)
) -> None:
    """Compose one raw image on each canvas of `out`."""
    planes = np.zeros((channels, sizes[:, 0].max() + 2, sizes[:, 1].max() + 2), np.float64)
    loaded, loaded_block = -1, 0
    for row in range(len(out)):
        image, cos, sin = which[row], poses[row, 2], poses[row, 3]
        height, width = sizes[image]
        step = math.sqrt(cos * cos + sin * sin)
        block = max(1, int(min(step + TOLERANCE, float(max(height, width)))))
        if image != loaded or block != loaded_block:
            _load(pixels, starts[image], height, width, block, planes)
            loaded, loaded_block = image, block
        _compose_one(planes, height, width, block, poses[row], colours[row], background, out[row])


@njit(cache=True, nogil=True)
def _load(pixels: Images, start: int, height: int, width: int, block: int, planes: FloatArray) -> None:
    """Average an image over blocks into `planes`, with an empty border of one pixel.

    Pixels beyond the edge count as empty, so that edges do not move.
    """
    channels = len(planes)
    rows, columns = -(-height // block), -(-width // block)
    planes[:, : rows + 2, : columns + 2] = 0.0
    weight = 1.0 / (block * block)
    for row in range(height):
        to = row // block + 1
        for column in range(columns):
            for source in range(column * block, min((column + 1) * block, width)):
                position = start + (row * width + source) * channels
                for c in range(channels):
                    planes[c, to, column + 1] += weight * pixels[position + c]


@njit(cache=True, nogil=True)
def _compose_one(
    planes: FloatArray,
    height: int,
    width: int,
    block: int,
    pose: FloatArray,
    colour: FloatArray,
    background: FloatArray,
    canvas: Images,
) -> None:
    """Compose a loaded image over the background; its last channel is the coverage.

    A single channel is coverage and gray level at the same time.
    """
    for c in range(canvas.shape[2]):
        canvas[:, :, c] = np.uint8(background[c] + 0.5)
    x, y, cos, sin = pose[0], pose[1], pose[2] / block, pose[3] / block
    step = math.sqrt(cos * cos + sin * sin)
    taps = 1 if step < 1.0 + TOLERANCE else 2
    rows, columns = -(-height // block), -(-width // block)
    center_u, center_v = 0.5 * width / block + 0.5, 0.5 * height / block + 0.5  # including the border
    last = len(planes) - 1
    top, bottom, left, right = _extent(rows, columns, pose, block, canvas.shape[0], canvas.shape[1])
    for row in range(top, bottom):
        for column in range(left, right):
            dx, dy = column + 0.5 - x, row + 0.5 - y
            u, v = center_u + cos * dx + sin * dy, center_v + cos * dy - sin * dx
            coverage = _sample(planes, last, rows, columns, u, v, cos, sin, taps)
            if coverage == 0.0:
                continue
            transparency = 1.0 - coverage / 255.0
            for c in range(canvas.shape[2]):
                plane = min(c, max(last - 1, 0))
                value = coverage
                if plane < last:
                    value = _sample(planes, plane, rows, columns, u, v, cos, sin, taps)
                level = value * colour[c] + transparency * background[c]
                canvas[row, column, c] = np.uint8(min(max(level, 0.0), 255.0) + 0.5)


@njit(cache=True, nogil=True)
def _extent(
    rows: int, columns: int, pose: FloatArray, block: int, canvas_rows: int, canvas_columns: int
) -> tuple[int, int, int, int]:
    """The part of the canvas that an image can cover: top, bottom, left, right."""
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
def _sample(
    planes: FloatArray, c: int, rows: int, columns: int, u: float, v: float, cos: float, sin: float, taps: int
) -> float:
    """The mean of one channel over the samples of the canvas pixel at (u, v), bilinear."""
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
