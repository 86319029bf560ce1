"""Exemplars of a million classes, and queries as pose normalisation by a network leaves them."""

import numpy as np
import numpy.typing as npt

from everlearn.factors import Factors
from everlearn.networks import to_tensor
from everlearn.networks.pose import poses_from_factors, to_canonical, to_images
from everlearn.rendering import render
from everlearn.rng import IntArray, rng_at
from everlearn.shapes import ShapeFamily
from everlearn.streams.stream import Images

SIZE = 64
ERRORS = {"small": (0.011, 0.15, 0.0), "large": (0.03, 0.7, 6.0)}
"""Standard deviations of errors in log scale and angle, in position (pixels) and in gray levels.

Small: a trained network on unseen shapes. Large: several times worse.
"""


def exemplars(labels: IntArray) -> Images:
    """Shapes in canonical pose."""
    images: Images = render(ShapeFamily().outlines(labels), Factors(), SIZE, threads=1)
    return images


def queries(labels: IntArray, error: str) -> npt.NDArray[np.float32]:
    """Posed shapes after an imperfect pose normalisation."""
    pose, place, noise = ERRORS[error]
    rng, n = rng_at(0, f"queries with {error} errors"), len(labels)
    scale, angle, x, y = rng.uniform(4 * n).reshape(4, n)
    true = Factors(scale=0.5 + 0.5 * scale, angle=2 * np.pi * angle, x=x, y=y)
    off = rng.normal(4 * n).reshape(4, n)
    seen = Factors(
        scale=true.scale * np.exp(pose * off[0]),
        angle=true.angle + pose * off[1],
        x=true.x + place * off[2] / (SIZE / 2),
        y=true.y + place * off[3] / (SIZE / 2),
    )
    images = render(ShapeFamily().outlines(labels), true, SIZE, threads=1)
    images = to_images(to_canonical(to_tensor(images), poses_from_factors(seen)))
    pixel_noise = noise * rng.normal(images.size).reshape(images.shape)
    return (images + pixel_noise).astype(np.float32)
