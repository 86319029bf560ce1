"""Plain backgrounds: a smooth surface through the border of an image, and the pixels that differ from it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.rng import FloatArray
from everlearn.shapes.jit import compiled
from everlearn.streams.images.decode import Pixels
from everlearn.streams.images.denoise import denoised

Mask = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

WORK_SIDE = 192
"""Pixels of the longer side at which the background is estimated."""
MIN_SIDE = 8
"""Pixels per side of an image that can have a background."""
MIN_CONTRAST, SIGMAS = 14.0, 5.0
"""The object differs from the background by this many levels, and standard deviations of the border."""
MAX_BORDER_SIGMA, MAX_OUTLIERS = 12.0, 0.35
"""A border that fits its surface worse than this is not a plain background."""
FINE_SIGMA = 2.0
"""Deviations of a border from its surface below this level count as equal."""
NEAR_MEDIAN = 25.0
"""Levels around the median of the border that a second fit of the background starts from."""
MAX_PARTS = 5
"""A foreground of more parts is a pattern, not an object in front of a background."""
MIN_PART, MIN_AREA = 0.15, 0.002
"""Smallest part as a share of the largest one, and smallest object as a share of the image."""


@dataclass(frozen=True, eq=False)
class PlainBackground:
    """The background of an image, estimated at a reduced size.

    Attributes:
        size: height and width of the image.
        reduced: (h, w, 3) the image at that size, without noise.
        fitted: (h, w, 3) the background.
        sigma: robust standard deviation of the border from it.
    """

    size: tuple[int, int]
    reduced: FloatArray
    fitted: FloatArray
    sigma: float

    @classmethod
    def find(cls, rgb: Pixels) -> "PlainBackground | None":
        """The background of an image (H, W, 3); None if it is not plain."""
        height, width = rgb.shape[:2]
        if min(height, width) < MIN_SIDE:
            return None
        reduced = _reduced(rgb)
        surface, sigma, outliers = _surface(reduced)
        if sigma > MAX_BORDER_SIGMA or outliers > MAX_OUTLIERS:
            return None
        return cls((height, width), reduced, surface, sigma)

    def surface(self) -> FloatArray:
        """The background (H, W, 3) at the size of the image."""
        height, width = self.size
        planes = [
            Image.fromarray(self.fitted[..., c].astype(np.float32)).resize(
                (width, height), Image.Resampling.BILINEAR
            )
            for c in range(3)
        ]
        return np.stack([np.asarray(plane) for plane in planes], axis=-1).clip(0, 255).astype(np.float64)

    def differs(self) -> Mask:
        """The mask (h, w) of pixels that differ from the background, at the reduced size."""
        difference = largest(np.abs(self.reduced - self.fitted))
        if self.sigma > 2.0:
            difference = _box_mean(difference)
        return np.asarray(difference > max(MIN_CONTRAST, SIGMAS * self.sigma))

    def foreground(self) -> Mask | None:
        """The mask (H, W) of the object in front of the background; None if there is none."""
        differs = self.differs()
        mask = np.zeros(differs.shape, np.uint8)
        n_parts = _largest_parts(differs.astype(np.uint8), mask, max(2, min(mask.shape) // 48))
        if n_parts > MAX_PARTS or mask.sum() < max(MIN_AREA * mask.size, 16):
            return None
        height, width = self.size
        large = Image.fromarray(mask * 255).resize((width, height), Image.Resampling.BILINEAR)
        return np.asarray(large) > 127


def _reduced(rgb: Pixels) -> FloatArray:
    height, width = rgb.shape[:2]
    factor = WORK_SIDE / max(height, width)
    image = Image.fromarray(np.ascontiguousarray(rgb))
    if factor < 1:
        new = max(MIN_SIDE, round(width * factor)), max(MIN_SIDE, round(height * factor))
        image = image.resize(new, Image.Resampling.BOX)
    return np.asarray(denoised(np.array(image)), np.float64)


def _surface(rgb: FloatArray) -> tuple[FloatArray, float, float]:
    """A quadratic surface through the border, the deviation from it, and the share of border far from it."""
    terms, border = _terms(*rgb.shape[:2])
    rows, levels = terms[border], rgb[border]
    # An object or an occluder at the border bends a surface that is fitted to all of it.
    near_median = largest(np.abs(levels - np.median(levels, axis=0))) < NEAR_MEDIAN
    fits = [_fit(rows, levels, weights) for weights in (np.ones(len(rows), bool), near_median)]
    solution, sigma, outliers = min(fits, key=lambda each: (max(each[1], FINE_SIGMA), each[2]))
    return terms @ solution, sigma, outliers


@lru_cache(maxsize=16)
def _terms(height: int, width: int) -> tuple[FloatArray, Mask]:
    """The terms (height, width, 6) of a quadratic surface, and the mask of the border."""
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    m = max(2, round(0.04 * max(height, width)))
    border = np.ones((height, width), bool)
    border[m:-m, m:-m] = False
    return np.stack([np.ones_like(x), x, y, x * y, x * x, y * y], axis=-1), border


def _fit(rows: FloatArray, levels: FloatArray, used: Mask) -> tuple[FloatArray, float, float]:
    """Coefficients, deviation and share of outliers of a surface; outliers are left out step by step."""
    for _ in range(4):
        inliers = rows[used]  # the normal equations are small; `lstsq` also solves those of too few points
        solution = np.linalg.lstsq(inliers.T @ inliers, inliers.T @ levels[used], rcond=None)[0]
        errors = largest(np.abs(rows @ solution - levels))
        sigma = float(np.median(errors))
        used = errors < 4 * max(sigma, FINE_SIGMA)
    return np.asarray(solution, np.float64), sigma, float(np.mean(errors > max(12.0, 4 * sigma)))


def largest(channels: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The largest of three channels (..., 3); numpy's `max` over so short an axis is ten times slower."""
    return np.maximum(np.maximum(channels[..., 0], channels[..., 1]), channels[..., 2])


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
    largest, n_large = 0, 0  # loops: numba's `max` and `sum` would import SciPy
    for k in range(n + 1):
        largest = max(largest, sizes[k])
    for k in range(n + 1):
        n_large += sizes[k] >= max(MIN_PART * largest, 5)
    for i in range(H):
        for j in range(W):
            if label[i, j] and sizes[label[i, j]] >= MIN_PART * largest and sizes[label[i, j]] > 4:
                mask[i, j] = 1
    fill_holes(mask, stack)
    return n_large


@compiled
def fill_holes(mask: npt.NDArray[np.uint8], stack: npt.NDArray[np.int64]) -> None:
    """Set the pixels that are not connected to the border outside of the mask."""
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
