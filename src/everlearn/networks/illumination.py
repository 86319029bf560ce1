"""Uneven illumination: a plane of light that is estimated from the background of an image and divided out."""

import numpy as np

from everlearn.networks.alignment import Bytes, Floats

STRIDE = 2
"""Every second pixel in both directions is enough for the three parameters of a plane."""
N_STEPS = 10
"""Reweighted least squares; most planes do not change after six."""
MIN_SCALE = 2.0
"""Gray levels by which a pixel of the background differs from the plane without losing its weight."""
MIN_LEVEL = 8.0
"""The light of an image with a darker background cannot be estimated; the image is not changed."""
MAX_GAIN = 20.0
"""Largest factor of a pixel; darker pixels contain no information."""


def without_illumination(images: Bytes, background: Floats) -> Bytes:
    """Images whose light falls off linearly, as they would be on an evenly lit background of a gray level.

    Most of an image has to be background. Each channel has its own plane, so a tint is removed too.

    Args:
        images: (n, H, W, C).
        background: (C,) gray levels of the background of exemplars.
    """
    n, H, W, C = images.shape
    x, y = np.meshgrid(*((2 * np.arange(size) + 1) / size - 1 for size in (W, H)))
    basis = np.stack([np.ones_like(x), x, y])  # (3, H, W)
    coarse_basis = basis[:, ::STRIDE, ::STRIDE].reshape(3, -1)
    levels = images[:, ::STRIDE, ::STRIDE].transpose(0, 3, 1, 2).reshape(n * C, -1)
    planes = np.tensordot(fit_planes(levels.astype(np.float64), coarse_basis), basis, 1).reshape(n, C, H, W)
    target = background[:, None, None]
    gain = target / np.maximum(planes, np.maximum(target / MAX_GAIN, 1e-9))
    is_dark = (planes.mean((2, 3)) < MIN_LEVEL) | (background < MIN_LEVEL)
    gain = np.where(is_dark[:, :, None, None], 1.0, gain).transpose(0, 2, 3, 1)
    return np.rint(np.minimum(images * gain, 255)).astype(np.uint8)


def fit_planes(levels: Floats, basis: Floats) -> Floats:
    """Coefficients (n, 3) of planes that most of the levels (n, m) lie on, for a basis (3, m).

    Reweighted least squares with the error of Geman and McClure. Its scale falls with the median distance
    of the levels, so that objects lose their weight step by step. Where a plane does not halve the median
    distance from a constant, it is that constant: noise and texture have no plane.
    """
    weights: Floats = np.ones_like(levels)
    products = (basis[:, None] * basis).reshape(9, -1)
    constants = np.median(levels, axis=1, keepdims=True)
    for _ in range(N_STEPS):
        normal = (weights @ products.T).reshape(-1, 3, 3)
        right = (weights * levels) @ basis.T
        found = np.asarray(np.linalg.solve(normal, right[..., None])[..., 0], np.float64)
        error = levels - found @ basis
        distance = np.median(np.abs(error), axis=1, keepdims=True)
        square_scale = np.square(np.maximum(MIN_SCALE, 2 * distance))
        weights = np.square(square_scale / (square_scale + error**2))
    is_plane = distance < 0.5 * np.median(np.abs(levels - constants), axis=1, keepdims=True)
    return np.where(is_plane, found, constants * [1.0, 0.0, 0.0])
