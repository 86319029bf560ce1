"""Poses from image moments, without a network or training."""

import numpy as np
import torch
from torch import Tensor

from everlearn.networks.alignment import CONTRAST, Bytes
from everlearn.networks.pose import clamp_scale, similarity

CANONICAL_SPREAD = 0.31
"""Root mean square distance of the pixels of a shape from its centroid at scale 1, in half image widths.

The median of sprites; the standard deviation over shapes is 6 %.
"""


def poses_from_moments(images: Bytes) -> Tensor:
    """Poses (n, 4) of shapes with a dark and a bright half on a plain background.

    The foreground is the set of pixels unlike the corner pixel. Its centroid is the position, its spread
    gives the scale, and the direction towards its dark half is the angle. Noise, texture and other objects
    count as foreground, and all three are wrong then.

    Example:
        >>> from everlearn.streams import sprites
        >>> batch = sprites().task(0).test[:1]
        >>> [f"{float(value):.2f}" for value in poses_from_moments(batch.images)[0]]
        ['0.50', '-0.00', '-0.50', '-0.25']
    """
    n, H, W = images.shape[:3]
    levels = images.reshape(n, H * W, -1).astype(np.float64).mean(2)
    contrast = levels - levels[:, :1]
    weight = (np.abs(contrast) > CONTRAST).astype(np.float64)
    weight /= np.maximum(weight.sum(1, keepdims=True), 1)
    y, x = ((2 * np.indices((H, W)) + 1) / np.array([H, W])[:, None, None] - 1).reshape(2, -1)
    center_x, center_y = weight @ x, weight @ y
    spread = np.sqrt(np.maximum(weight @ (x * x + y * y) - center_x**2 - center_y**2, 1e-8))
    dark = -weight * np.sign(contrast)
    offset = dark.sum(1)
    angle = np.arctan2(dark @ y - offset * center_y, dark @ x - offset * center_x)
    values = (spread / CANONICAL_SPREAD, angle, center_x, center_y)
    return clamp_scale(similarity(*(torch.from_numpy(each).float() for each in values)))
