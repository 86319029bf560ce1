"""Exhaustive search for the pose of an exemplar in an image, at low resolution."""

import math

import numpy as np
import numpy.typing as npt

from everlearn.shapes.jit import compiled

Floats = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.float32]

MIN_INSIDE = 0.6
"""Share of an exemplar that must be in the image."""
NOISE = 16.0
"""Variance of pixel noise, in squared gray levels, that a correlation allows for."""


@compiled
def search(
    image: Pixels,
    points: Floats,
    colours: Pixels,
    turns: Floats,
    scales: Floats,
    centers: Floats,
    transforms: Floats,
    scores: Floats,
) -> None:
    """The best similarity transforms of a grid, by the correlation of colours.

    Args:
        image: (H, W, 3), reduced so that the exemplar has about as many pixels as points.
        points: (n, 2) positions in the exemplar, from -1 to 1.
        colours: (n, 3) of the exemplar at these points.
        turns: angles to try.
        scales: pixels per unit of the exemplar to try.
        centers: (m, 2) positions in the image of the exemplar's origin to try.
        transforms: (k, 3, 3) output: the best transforms, of different centers or angles, best first.
        scores: (k,) output: their correlations.
    """
    H, W, _ = image.shape
    n, k = len(points), len(scores)
    scores[:] = -2.0
    for angle in turns:
        for scale in scales:
            a, b = scale * math.cos(angle), scale * math.sin(angle)
            for m in range(len(centers)):
                cx, cy = centers[m, 0], centers[m, 1]
                v, vv, t, tt, tv, inside = 0.0, 0.0, 0.0, 0.0, 0.0, 0
                for i in range(n):
                    x = int(cx + a * points[i, 0] + b * points[i, 1] + 0.5)
                    y = int(cy - b * points[i, 0] + a * points[i, 1] + 0.5)
                    if 0 <= x < W and 0 <= y < H:
                        inside += 3
                        for c in range(3):
                            value, level = image[y, x, c], colours[i, c]
                            v += value
                            vv += value * value
                            t += level
                            tt += level * level
                            tv += value * level
                if inside < MIN_INSIDE * 3 * n:
                    continue
                # A flat part of the image must not correlate by its noise.
                spread = (vv - v * v / inside + inside * NOISE) * (tt - t * t / inside + inside * NOISE)
                score = (tv - t * v / inside) / math.sqrt(spread)
                if score > scores[k - 1]:
                    _insert(transforms, scores, score, a, b, cx, cy)


@compiled
def _insert(
    transforms: Floats, scores: Floats, score: float, a: float, b: float, cx: float, cy: float
) -> None:
    """Keep a transform in the list of the best, whose last entry is dropped."""
    j = len(scores) - 1
    while j > 0 and scores[j - 1] < score:
        scores[j] = scores[j - 1]
        transforms[j] = transforms[j - 1]
        j -= 1
    scores[j] = score
    transforms[j] = 0.0
    transforms[j, 0, 0], transforms[j, 0, 1], transforms[j, 0, 2] = a, b, cx
    transforms[j, 1, 0], transforms[j, 1, 1], transforms[j, 1, 2] = -b, a, cy
    transforms[j, 2, 2] = 1.0
