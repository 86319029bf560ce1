"""An independent, slow reference renderer: 16 x 16 samples per pixel."""

import numpy as np
import numpy.typing as npt

from everlearn.factors import Factors
from everlearn.shapes import Outlines

FloatArray = npt.NDArray[np.float64]

SAMPLES = 16


def image(outline: Outlines, factors: Factors, size: int, levels: tuple[float, float, float]) -> FloatArray:
    """The mean gray level of the samples of each pixel, (size, size)."""
    background, shape, mark = levels
    unit = 0.45 * size * factors.scale[0]
    cos, sin = unit * np.cos(factors.angle[0]), unit * np.sin(factors.angle[0])
    middle = (0.25 + 0.5 * np.array([factors.x[0], factors.y[0]])) * size
    local = outline.points(300 * int(outline.n_vertices[0]))[0]
    points = local @ np.array([[cos, sin], [-sin, cos]]) + middle
    places = (np.arange(size * SAMPLES) + 0.5) / SAMPLES
    inside = np.stack([_inside_row(points, y, places) for y in places])
    right = (places[None] - middle[0]) * cos + (places[:, None] - middle[1]) * sin > 0
    samples = np.where(inside, np.where(right, mark, shape), background)
    means: FloatArray = samples.reshape(size, SAMPLES, size, SAMPLES).mean(axis=(1, 3))
    return means


def _inside_row(points: FloatArray, y: float, places: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether points of a horizontal line are inside: an odd number of crossings to the left."""
    a, b = points, np.roll(points, -1, axis=0)
    crossing = (a[:, 1] <= y) != (b[:, 1] <= y)
    a, b = a[crossing], b[crossing]
    x = a[:, 0] + (y - a[:, 1]) / (b[:, 1] - a[:, 1]) * (b[:, 0] - a[:, 0])
    odd: npt.NDArray[np.bool_] = np.searchsorted(np.sort(x), places) % 2 == 1
    return odd
