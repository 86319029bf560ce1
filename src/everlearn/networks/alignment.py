"""Compiled fitting of remembered images to a given one, in the given image's own frame.

A remembered image E is laid over a image I by u(p) = a p + c (a, c complex: a similarity), and the sum
over pixels of (E(u(p)) - I(p))^2 is made small by Gauss-Newton steps in the four parameters. All candidates
explain the same pixels at the sharpness they were taken with, so their misfits can be compared.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

STAGES = ((1, 2), (2, 2), (2, 1))
"""Gauss-Newton steps, and the stride at which pixels are looked at."""
LAST_STEPS = 2
MIDDLE = ((0.0, 0.0),)
"""Where in a pixel one looks: its edges are at -1 and 1."""
MARGIN = 3
KEEP = 4.0
"""A candidate goes on to the next stage if its misfit is at most this many times the smallest."""
WORTHWHILE = 0.98
"""A step that leaves more than this share of the misfit is the last."""
CONTRAST = 12
"""Gray levels by which a pixel must differ from the border to count as part of the thing shown."""


@compiled
def fit_all(
    images: Bytes, memory: Bytes, rows: IntArray, ways: Floats, misfits: Floats, best: Floats
) -> None:
    """Fit each image's candidates; coarsely first, and more finely those that come near the best.

    Args:
        images: (n, H, W, C) to be explained.
        memory: (m, H, W, C) remembered.
        rows: (n, k) candidates among the memory.
        ways: (n, k, 4) where to start: from the image's frame to the canonical one.
        misfits: (n, k) filled with sums of squares over all pixels, in (gray levels)^2.
        best: (n, 4) filled with the way found for the best candidate.
    """
    found = np.empty((rows.shape[1], 4))
    for i in range(len(images)):
        box = extent(images[i])
        misfits[i], found[:], limit = 0.0, ways[i], 0.0
        for n_steps, stride in STAGES:
            fit_some(images[i], memory, rows[i], box, found, misfits[i], limit, n_steps, stride, MIDDLE)
            limit = KEEP * misfits[i].min()
        r = reach(found[misfits[i].argmin()])
        if r > 0.0:
            corners = ((-r, -r), (-r, r), (r, -r), (r, r))
            fit_some(images[i], memory, rows[i], box, found, misfits[i], limit, LAST_STEPS, 1, corners)
        best[i] = found[misfits[i].argmin()]


@compiled
def reach(way: Floats) -> float:
    """How far from its middle a pixel is looked at, to average as sharply as the camera does.

    A pixel of a thing shown smaller than it is remembered covers several remembered ones; how far out four
    points do best was found by trying, scale by scale.
    """
    return min(max(0.9 * (1 - 1 / math.hypot(way[0], way[1])), 0.0), 0.5)


@compiled
def fit_some(
    image: Bytes,
    memory: Bytes,
    rows: IntArray,
    box: Any,
    ways: Floats,
    misfits: Floats,
    limit: float,
    n_steps: int,
    stride: int,
    points: Any,
) -> None:
    """Fit those candidates on whose misfits are not above the limit."""
    for j in range(len(rows)):
        if misfits[j] <= limit:
            misfits[j] = fit(image, memory[rows[j]], box, ways[j], n_steps, stride, points)


@compiled
def extent(image: Bytes) -> tuple[int, int, int, int]:
    """The box (top, bottom, left, right) of what differs from the border, and a margin around it."""
    H, W, C = image.shape
    top, bottom, left, right = H, 0, W, 0
    for i in range(H):
        for j in range(W):
            for c in range(C):
                if abs(int(image[i, j, c]) - int(image[0, 0, c])) > CONTRAST:
                    top, bottom = min(top, i), max(bottom, i + 1)
                    left, right = min(left, j), max(right, j + 1)
    if top >= bottom:
        return 0, H, 0, W
    return max(top - MARGIN, 0), min(bottom + MARGIN, H), max(left - MARGIN, 0), min(right + MARGIN, W)


@compiled
def fit(
    image: Bytes, exemplar: Bytes, box: Any, way: Floats, n_steps: int, stride: int, points: Any
) -> float:
    """The smallest misfit found from `way` on, which is moved there."""
    normal, right, step = np.empty((4, 4)), np.empty(4), np.empty(4)
    trial = way.copy()
    least = math.inf
    for number in range(n_steps + 1):
        misfit = accumulate(image, exemplar, box, trial, stride, points, normal, right)
        settled = not misfit < WORTHWHILE * least
        if misfit < least:
            least = misfit
            way[:] = trial
        if settled or number == n_steps or not solve(normal, right, step):
            break
        trial += step
    return least


@compiled
def accumulate(
    image: Bytes,
    exemplar: Bytes,
    box: Any,
    way: Floats,
    stride: int,
    points: Any,
    normal: Floats,
    right: Floats,
) -> float:
    """The misfit, and the normal equations of the Gauss-Newton step from here."""
    H, W, C = exemplar.shape
    top, bottom, left, end = box
    normal[:] = 0.0
    right[:] = 0.0
    a, b, cx, cy = way
    share = 1.0 / len(points)
    misfit = 0.0
    for i in range(top, bottom, stride):
        for j in range(left, end, stride):
            for c in range(C):
                error, j0, j1, j2, j3 = -float(image[i, j, c]), 0.0, 0.0, 0.0, 0.0
                for right_by, down_by in points:
                    x, y = (2 * j + 1 + right_by) / W - 1, (2 * i + 1 + down_by) / H - 1
                    u, v = a * x - b * y + cx, b * x + a * y + cy
                    value, gx, gy = sample(exemplar, c, u, v)
                    error += share * value
                    j0 += share * (gx * x + gy * y)
                    j1 += share * (gy * x - gx * y)
                    j2 += share * gx
                    j3 += share * gy
                misfit += error * error
                if j2 != 0.0 or j3 != 0.0:
                    normal[0, 0] += j0 * j0
                    normal[0, 1] += j0 * j1
                    normal[0, 2] += j0 * j2
                    normal[0, 3] += j0 * j3
                    normal[1, 1] += j1 * j1
                    normal[1, 2] += j1 * j2
                    normal[1, 3] += j1 * j3
                    normal[2, 2] += j2 * j2
                    normal[2, 3] += j2 * j3
                    normal[3, 3] += j3 * j3
                    right[0] -= j0 * error
                    right[1] -= j1 * error
                    right[2] -= j2 * error
                    right[3] -= j3 * error
    return misfit * stride * stride


@compiled
def sample(exemplar: Bytes, c: int, u: float, v: float) -> tuple[float, float, float]:
    """A remembered image at a point between its pixels, and how it changes there."""
    H, W, _ = exemplar.shape
    u, v = (u + 1) * (0.5 * W) - 0.5, (v + 1) * (0.5 * H) - 0.5
    # Written so that what is not a number becomes 0 too: an index must never leave the image.
    u = min(u, W - 1.0) if u > 0.0 else 0.0
    v = min(v, H - 1.0) if v > 0.0 else 0.0
    m, n = min(int(v), H - 2), min(int(u), W - 2)
    s, t = u - n, v - m
    p, q = float(exemplar[m, n, c]), float(exemplar[m, n + 1, c])
    r, o = float(exemplar[m + 1, n, c]), float(exemplar[m + 1, n + 1, c])
    gx = ((q - p) * (1 - t) + (o - r) * t) * (0.5 * W)
    gy = ((r - p) * (1 - s) + (o - q) * s) * (0.5 * H)
    upper, lower = p + (q - p) * s, r + (o - r) * s
    return upper + (lower - upper) * t, gx, gy


@compiled
def solve(normal: Floats, right: Floats, step: Floats) -> bool:
    """Cholesky's way through the upper half of the normal equations; False where there is no answer."""
    for i in range(4):
        normal[i, i] = normal[i, i] * 1.001 + 1e-9
        for k in range(i):
            normal[i, i] -= normal[k, i] * normal[k, i]
        if not normal[i, i] > 0:
            return False
        normal[i, i] = math.sqrt(normal[i, i])
        for j in range(i + 1, 4):
            for k in range(i):
                normal[i, j] -= normal[k, i] * normal[k, j]
            normal[i, j] /= normal[i, i]
    for i in range(4):
        step[i] = right[i]
        for k in range(i):
            step[i] -= normal[k, i] * step[k]
        step[i] /= normal[i, i]
    for i in range(3, -1, -1):
        for k in range(i + 1, 4):
            step[i] -= normal[i, k] * step[k]
        step[i] /= normal[i, i]
    return True
