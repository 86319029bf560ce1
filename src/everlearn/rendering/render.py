"""Outlines and factors in, pictures out."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.factors import Factors
from everlearn.rendering.paint import paint_gray, paint_pixels, paint_planes
from everlearn.rendering.paths import flatten
from everlearn.rendering.raster import DRAWN_SIZE, Placements
from everlearn.shapes import Outlines

LEVELS = 255


def render(
    outlines: Outlines,
    factors: Factors,
    image_size: int = 64,
    *,
    which: npt.ArrayLike | None = None,
    rgb: bool = False,
    marker: bool = True,
    background: npt.ArrayLike = 169 / 255,
    dtype: npt.DTypeLike = np.uint8,
    channels_first: bool = False,
) -> npt.NDArray[Any]:
    """Draw."""
    n = len(factors) if which is None or len(factors) > 1 else len(np.atleast_1d(which))
    which = np.arange(len(outlines)) if which is None else np.asarray(which)
    n = max(len(which), len(factors))
    which = np.broadcast_to(which, n).astype(np.int64)
    if len(factors) < n:
        factors = factors[np.zeros(n, np.int64)]
    paths = flatten(outlines.cubics, outlines.n_vertices, DRAWN_SIZE * image_size)
    where = Placements(which, factors.scale, factors.angle, factors.x, factors.y)
    top = 255.0 if np.dtype(dtype) == np.uint8 else 1.0
    col = factors.colour
    if not rgb:
        col = (col @ np.array([0.299, 0.587, 0.114]))[:, None]
    levels = np.stack([np.full_like(col, background), col, col * (not marker)], axis=2).reshape(n, -1)
    levels = (levels * top).astype(np.float32)
    shape = (n, image_size, image_size) if not rgb else (n, 3, image_size, image_size) if channels_first else (n, image_size, image_size, 3)
    out = np.empty(shape, dtype)
    paint = paint_gray if not rgb else paint_planes if channels_first else paint_pixels
    paint(0, n, paths, where, image_size, levels, out.reshape(-1))
    return out
