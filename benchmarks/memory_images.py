"""Exemplars of a million classes, and images such as a network that normalises leaves of them."""

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
"""Errors in the logarithm of scale and in angle, in pixels of place, and of each pixel in levels.

Small ones are those of a trained network on shapes it has never seen; large ones are far worse.
"""


def exemplars(labels: IntArray) -> Images:
    """The shapes with these numbers, in canonical pose."""
    images: Images = render(ShapeFamily().outlines(labels), Factors(), SIZE, threads=1)
    return images


def queries(labels: IntArray, error: str) -> npt.NDArray[np.float32]:
    """Shapes seen in any pose and brought back to the canonical one, not quite."""
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
    grain = noise * rng.normal(images.size).reshape(images.shape)
    return (images + grain).astype(np.float32)
