"""The canonical form of an image: upright, cut out of its background, trimmed, centered, of one size.

Every image that is taught or asked about passes through `cut_out`: of files, arrays, the studio and
streams of images. The background is what is transparent; without transparency, it is what a smooth surface
fitted to the border of the image explains. If no such surface fits, the image itself is the object.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.errors import BadInput
from everlearn.rng import FloatArray
from everlearn.shapes.jit import compiled
from everlearn.streams.images.compose import LUMINANCE
from everlearn.streams.images.decode import MAX_PIXELS, Pixels, decode, rgba_of
from everlearn.streams.images.denoise import denoised
from everlearn.streams.stream import Images

Number = TypeVar("Number", bound=np.generic)
Mask = npt.NDArray[np.bool_]
ImageLike = str | Path | Image.Image | npt.NDArray[np.uint8]
"""What can be taught: the path of a file, a PIL image, or an array (H, W), (H, W, 3) or (H, W, 4)."""

WORK_SIDE = 192
"""Pixels of the longer side at which the background is estimated."""
INNER = 0.875
"""Longer side of the object as a share of the canonical frame."""
MIN_CONTRAST, SIGMAS = 14.0, 5.0
"""The object differs from the background by this many levels, and standard deviations of the border."""
MAX_BORDER_SIGMA, MAX_OUTLIERS = 12.0, 0.35
"""A border that fits its surface worse than this is no plain background."""
FINE_SIGMA = 2.0
"""Deviations of a border from its surface below this level count as equal."""
NEAR_MEDIAN = 25.0
"""Levels around the median of the border that a second fit of the background starts from."""
MAX_PARTS = 5
"""What falls into more parts is a pattern, not an object in front of a background."""
MIN_PART, MIN_AREA = 0.15, 0.002
"""Smallest part as a share of the largest one, and smallest object as a share of the image."""


@dataclass(frozen=True, eq=False)
class CutOut:
    """An object and where it was in its image.

    Attributes:
        pixels: (H, W, 4) the object in its bounding box; alpha is its mask.
        box: left, top, right and bottom of the bounding box in the image.
        background: how the mask was found: "transparent" pixels, a "plain" background, or "none" of both.
    """

    pixels: Pixels
    box: tuple[int, int, int, int]
    background: Literal["transparent", "plain", "none"]

    def canonical(self, size: int) -> Pixels:
        """(size, size, 4): the object centered, its longer side `INNER` of the frame."""
        return _pasted(np.zeros((size, size, 4), np.uint8), self.scaled(INNER * size))

    def scaled(self, side: float) -> Pixels:
        """(H, W, 4): the object with a longer side of `side` pixels."""
        height, width = self.pixels.shape[:2]
        factor = side / max(height, width)
        method = Image.Resampling.BOX if factor < 1 else Image.Resampling.BICUBIC
        new = max(1, round(width * factor)), max(1, round(height * factor))
        return np.array(Image.fromarray(self.pixels).resize(new, method))


def read_image(image: ImageLike, name: str = "the image") -> Pixels:
    """An image as RGBA (H, W, 4), upright; `BadInput` says what is wrong with it.

    Example:
        >>> read_image(np.zeros((4, 6), np.uint8)).shape
        (4, 6, 4)
    """
    if isinstance(image, str | Path):
        return _read_file(Path(image))
    if isinstance(image, Image.Image):
        if image.width * image.height > MAX_PIXELS:
            raise BadInput(f"{name} is {image.size} pixels; at most {MAX_PIXELS} are allowed; shrink it")
        return rgba_of(image)
    array = np.asarray(image)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,), (4,)):
        raise BadInput(
            f"{name} is an array {array.shape} of {array.dtype}; give uint8 (H, W), (H, W, 3) or (H, W, 4)"
        )
    if not array.size or array.shape[0] * array.shape[1] > MAX_PIXELS:
        raise BadInput(f"{name} is {array.shape[:2]}; give 1 to {MAX_PIXELS} pixels")
    return rgba_of(Image.fromarray(array))


def _read_file(path: Path) -> Pixels:
    if "\0" in str(path) or not path.exists():
        raise BadInput(f"there is no image {str(path)!r:.200}; check the spelling")
    if path.is_dir():
        raise BadInput(f"{str(path)!r:.200} is a folder; give the images in it")
    return decode(path.read_bytes(), str(path))


def cut_out(rgba: Pixels) -> CutOut:
    """Cut the object out of an image.

    Example:
        >>> image = np.full((64, 64, 4), 255, np.uint8)
        >>> image[20:40, 10:50, :3] = 90
        >>> found = cut_out(image)
        >>> found.box, found.background
        ((10, 20, 50, 40), 'plain')
    """
    height, width = rgba.shape[:2]
    if (rgba[..., 3] < 128).mean() > MIN_AREA and (opaque := rgba[..., 3] >= 128).any():
        return _cut(rgba, opaque, "transparent")
    mask = foreground(rgba[..., :3]) if min(height, width) >= 8 else None
    if mask is None:
        return whole(rgba)
    return _cut(rgba, mask, "plain")


def whole(rgba: Pixels) -> CutOut:
    """The whole image as the object."""
    height, width = rgba.shape[:2]
    return CutOut(rgba, (0, 0, width, height), "none")


def drawn_like(found: CutOut, exemplars: Images) -> Images:
    """The object as an image (H, W[, 3]) like stored exemplars: of their size, and on their background.

    Example:
        >>> exemplars = np.full((1, 32, 32), 169, np.uint8)
        >>> exemplars[0, 9:23, 9:23] = 255
        >>> drawn = drawn_like(whole(read_image(np.full((50, 50), 40, np.uint8))), exemplars)
        >>> int(drawn[0, 0]), int((drawn == 40).sum())
        (169, 196)
    """
    some = exemplars[:: max(1, len(exemplars) // 32)]
    shape, background = some.shape[1:], np.median(some[:, 0, 0], axis=0)
    differs = np.abs(some.astype(np.int64) - some[:, :1, :1]).reshape(*some.shape[:3], -1).max(axis=3) > 8
    sides = [
        max(np.ptp(np.nonzero(each)[0]), np.ptp(np.nonzero(each)[1])) + 1 for each in differs if each.any()
    ]
    side = float(np.median(sides)) if sides else INNER * min(shape[:2])
    rgba = found.scaled(side).astype(np.float64)
    colours = rgba[..., :3] if len(shape) == 3 else rgba[..., :3] @ np.array(LUMINANCE)
    alpha = rgba[..., 3] / 255 if len(shape) == 2 else rgba[..., 3:] / 255
    blended = alpha * colours + (1 - alpha) * background
    image = np.empty(shape)
    image[:] = background
    return np.asarray(_pasted(image, blended).round(), np.uint8)


def _pasted(image: npt.NDArray[Number], part: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """A part pasted into the middle of an image; what is larger is cut off."""
    height, width = image.shape[:2]
    top, left = (height - part.shape[0]) // 2, (width - part.shape[1]) // 2
    inside = part[max(0, -top) : max(0, -top) + height, max(0, -left) : max(0, -left) + width]
    top, left = max(0, top), max(0, left)
    image[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
    return image


def foreground(rgb: Pixels) -> Mask | None:
    """The mask of what differs from the background of an image; None if the background is not plain."""
    small = _reduced(rgb)
    if (found := _plain_background(small)) is None:
        return None
    surface, sigma = found
    difference = np.abs(small - surface).max(axis=2)
    if sigma > 2.0:
        difference = _box_mean(difference)
    mask = np.zeros(difference.shape, np.uint8)
    differs = difference > max(MIN_CONTRAST, SIGMAS * sigma)
    n_parts = _largest_parts(differs.astype(np.uint8), mask, max(2, min(mask.shape) // 48))
    if n_parts > MAX_PARTS or mask.sum() < max(MIN_AREA * mask.size, 16):
        return None
    height, width = rgb.shape[:2]
    return np.array(Image.fromarray(mask * 255).resize((width, height), Image.Resampling.BILINEAR)) > 127


def background_surface(rgb: Pixels) -> FloatArray | None:
    """The smooth background (H, W, 3) of an image; None if it is not plain."""
    if min(rgb.shape[:2]) < 8 or (found := _plain_background(_reduced(rgb))) is None:
        return None
    height, width = rgb.shape[:2]
    planes = [
        Image.fromarray(found[0][..., c].astype(np.float32)).resize(
            (width, height), Image.Resampling.BILINEAR
        )
        for c in range(3)
    ]
    return np.stack([np.asarray(plane) for plane in planes], axis=-1).clip(0, 255).astype(np.float64)


def _cut(rgba: Pixels, mask: Mask, background: Literal["transparent", "plain"]) -> CutOut:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    pixels = rgba[top:bottom, left:right].copy()
    if background == "plain":
        pixels[..., 3] = np.where(mask[top:bottom, left:right], 255, 0)
    return CutOut(pixels, (left, top, right, bottom), background)


def _reduced(rgb: Pixels) -> FloatArray:
    height, width = rgb.shape[:2]
    factor = WORK_SIDE / max(height, width)
    image = Image.fromarray(np.ascontiguousarray(rgb))
    if factor < 1:
        new = max(8, round(width * factor)), max(8, round(height * factor))
        image = image.resize(new, Image.Resampling.BOX)
    return np.asarray(denoised(np.array(image)), np.float64)


def _plain_background(rgb: FloatArray) -> tuple[FloatArray, float] | None:
    """The surface through the border and the deviation from it; None if the border does not fit it."""
    surface, sigma, outliers = _background(rgb)
    return None if sigma > MAX_BORDER_SIGMA or outliers > MAX_OUTLIERS else (surface, sigma)


def _background(rgb: FloatArray) -> tuple[FloatArray, float, float]:
    """A quadratic surface through the border, the deviation from it, and the share of border far from it."""
    height, width = rgb.shape[:2]
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    terms = np.stack([np.ones_like(x), x, y, x * y, x * x, y * y], axis=-1)
    m = max(2, round(0.04 * max(height, width)))
    border = np.ones((height, width), bool)
    border[m:-m, m:-m] = False
    rows, levels = terms[border], rgb[border]
    # An object or an occluder at the border bends a surface that is fitted to all of it.
    near_median = (np.abs(levels - np.median(levels, axis=0)).max(axis=1) < NEAR_MEDIAN).astype(np.float64)
    fits = [_fit_surface(rows, levels, weights) for weights in (np.ones(len(rows)), near_median)]
    solution, sigma, outliers = min(fits, key=lambda each: (max(each[1], FINE_SIGMA), each[2]))
    return terms @ solution, sigma, outliers


def _fit_surface(
    rows: FloatArray, levels: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float, float]:
    """Coefficients, deviation and share of outliers of a surface; outliers are left out step by step."""
    for _ in range(4):
        solution = np.linalg.lstsq(rows * weights[:, None], levels * weights[:, None], rcond=None)[0]
        errors = np.abs(rows @ solution - levels).max(axis=1)
        sigma = float(np.median(errors))
        weights = (errors < 4 * max(sigma, FINE_SIGMA)).astype(np.float64)
    return np.asarray(solution, np.float64), sigma, float(np.mean(errors > max(12.0, 4 * sigma)))


def _box_mean(plane: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The mean of 3 x 3 pixels."""
    padded = np.pad(plane, 1, mode="edge")
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9


@compiled
def _largest_parts(found: npt.NDArray[np.uint8], mask: npt.NDArray[np.uint8], reach: int) -> int:
    """Write the large parts of `found` to `mask`, holes filled; returns how many parts there are.

    Pixels within `reach` of each other are connected.
    """
    H, W = found.shape
    label = np.zeros((H, W), np.int64)
    stack = np.empty((H * W, 2), np.int64)
    sizes = np.zeros(H * W + 1, np.int64)
    n = 0
    for i in range(H):
        for j in range(W):
            if found[i, j] and label[i, j] == 0:
                n += 1
                top = 1
                stack[0, 0], stack[0, 1] = i, j
                label[i, j] = n
                while top > 0:
                    top -= 1
                    r, c = stack[top, 0], stack[top, 1]
                    sizes[n] += 1
                    for y in range(max(r - reach, 0), min(r + reach + 1, H)):
                        for x in range(max(c - reach, 0), min(c + reach + 1, W)):
                            if found[y, x] and label[y, x] == 0:
                                label[y, x] = n
                                stack[top, 0], stack[top, 1] = y, x
                                top += 1
    largest = sizes.max()
    for i in range(H):
        for j in range(W):
            if label[i, j] and sizes[label[i, j]] >= MIN_PART * largest and sizes[label[i, j]] > 4:
                mask[i, j] = 1
    fill_holes(mask, stack)
    return int((sizes >= max(MIN_PART * largest, 5)).sum())


@compiled
def fill_holes(mask: npt.NDArray[np.uint8], stack: npt.NDArray[np.int64]) -> None:
    """Set what the outside cannot reach."""
    H, W = mask.shape
    outside = np.zeros((H, W), np.uint8)
    top = 0
    for i in range(H):
        for j in range(W):
            if (i == 0 or j == 0 or i == H - 1 or j == W - 1) and not mask[i, j]:
                outside[i, j] = 1
                stack[top, 0], stack[top, 1] = i, j
                top += 1
    while top > 0:
        top -= 1
        r, c = stack[top, 0], stack[top, 1]
        for y, x in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
            if 0 <= y < H and 0 <= x < W and not mask[y, x] and not outside[y, x]:
                outside[y, x] = 1
                stack[top, 0], stack[top, 1] = y, x
                top += 1
    for i in range(H):
        for j in range(W):
            if not outside[i, j]:
                mask[i, j] = 1
