"""Pixel noise: its level, and its removal by thresholds on cosine transforms of overlapping blocks.

Reference: Yu and Sapiro 2011, "DCT image denoising: a simple and effective image denoising algorithm",
Image Processing On Line 1.
"""

import math

import numpy as np
import numpy.typing as npt

from everlearn.streams.images.decode import Pixels

Floats32 = npt.NDArray[np.float32]

MIN_SIGMA = 6.0
"""Noise with a smaller standard deviation, in gray levels, is not removed."""
SIDE, STEP = 8, 4
"""Pixels per side of a block, and between two blocks."""
THRESHOLD = 3.5
"""Coefficients below this number of standard deviations are set to zero.

Above the usual 2.7, because the level is underestimated where noise is cut off at black and white.
"""


def noise_sigma(rgb: Pixels) -> float:
    """The standard deviation of pixel noise in gray levels; 0 for a texture, which all channels share.

    Example:
        >>> from everlearn.rng import rng_at
        >>> noise = rng_at(0, "example").normal(64 * 64 * 3).reshape(64, 64, 3)
        >>> 18 < noise_sigma((128 + 20 * noise).clip(0, 255).astype(np.uint8)) < 22
        True
    """
    if min(rgb.shape[:2]) < SIDE:
        return 0.0
    # Noise is averaged (sqrt 3) or added (1 / sqrt 2) over channels; a texture is alike in all of them.
    sigma = _deviation(rgb.astype(np.float32).mean(axis=2)) * math.sqrt(3)
    difference = rgb[..., 0].astype(np.float32) - rgb[..., 1]
    is_texture = difference.any() and _deviation(difference) / math.sqrt(2) < MIN_SIGMA
    return 0.0 if is_texture else sigma


def _deviation(gray: Floats32) -> float:
    """The standard deviation of noise, from a filter of norm sqrt 20 that smooth parts do not pass."""
    laplacian = gray[1:-1, 1:-1] * 4 - gray[:-2, 1:-1] - gray[2:, 1:-1] - gray[1:-1, :-2] - gray[1:-1, 2:]
    return 1.4826 * float(np.median(np.abs(laplacian))) / math.sqrt(20)


def denoised(rgb: Pixels) -> Pixels:
    """The image (H, W, 3) without pixel noise; an image with little noise is returned unchanged."""
    sigma = noise_sigma(rgb)
    if sigma < MIN_SIGMA:
        return rgb
    channels = np.moveaxis(rgb.astype(np.float32) @ COLOURS.T, -1, 0)
    smooth = np.stack([_thresholded(each, THRESHOLD * sigma) for each in channels], axis=-1)
    return np.asarray((smooth @ COLOURS).round().clip(0, 255), np.uint8)


def _thresholded(channel: Floats32, threshold: float) -> Floats32:
    """The mean of all blocks that contain a pixel, after small coefficients have been set to zero.

    Blocks with few coefficients are smooth and have a larger weight.
    """
    height, width = channel.shape
    # Reflected, so that pixels of the border are in as many blocks as others.
    padding = [(SIDE, SIDE + -side % STEP) for side in channel.shape]
    padded = np.pad(channel, padding, mode="symmetric")
    blocks = np.lib.stride_tricks.sliding_window_view(padded, (SIDE, SIDE))[::STEP, ::STEP]
    rows, columns = blocks.shape[:2]
    coefficients = blocks.reshape(-1, SIDE * SIDE) @ TRANSFORM.T
    is_kept = np.abs(coefficients) > threshold
    is_kept[:, 0] = True
    weights = 1 / is_kept.sum(axis=1, keepdims=True).astype(np.float32)
    found = (coefficients * is_kept * weights) @ TRANSFORM
    found, weights = found.reshape(rows, columns, SIDE, SIDE), weights.reshape(rows, columns)
    total, weight = np.zeros_like(padded), np.zeros_like(padded)
    for y in range(SIDE):
        for x in range(SIDE):
            inside = slice(y, y + STEP * rows, STEP), slice(x, x + STEP * columns, STEP)
            total[inside] += found[:, :, y, x]
            weight[inside] += weights
    smooth: Floats32 = total[SIDE : SIDE + height, SIDE : SIDE + width]
    return smooth / weight[SIDE : SIDE + height, SIDE : SIDE + width]


def _cosines(n: int) -> Floats32:
    """The orthonormal discrete cosine transform (n, n)."""
    k = np.arange(n)
    rows = np.cos(np.pi * (2 * k + 1) * k[:, None] / (2 * n)) * math.sqrt(2 / n)
    rows[0] /= math.sqrt(2)
    return rows.astype(np.float32)


TRANSFORM: Floats32 = np.kron(_cosines(SIDE), _cosines(SIDE))
"""The transform of a block, flattened."""
COLOURS = _cosines(3)
"""Brightness and two differences of colours, in which natural images vary less."""
