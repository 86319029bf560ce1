"""Compiled fitting of remembered pictures to a given one, in the given picture's own frame.

A remembered picture E is laid over a picture I by u(p) = a p + c (a, c complex: a similarity), and the sum
over pixels of (E(u(p)) - I(p))^2 is made small by Gauss-Newton steps in the four parameters. All candidates
explain the same pixels at the sharpness they were taken with, so their misfits can be compared.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.chance import IntArray
from everlearn.shapes.compiled import compiled

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

STAGES = ((1, 2), (2, 2), (3, 1))
"""Gauss-Newton steps, and the stride at which pixels are looked at."""
MARGIN = 3
KEEP = 4.0
"""A candidate goes on to the next stage if its misfit is at most this many times the smallest."""
WORTHWHILE = 0.98
"""A step that leaves more than this share of the misfit is the last."""
CONTRAST = 12
"""Gray levels by which a pixel must differ from the border to count as part of the thing shown."""


@compiled
def fit_all(
    pictures: Bytes, memory: Bytes, rows: IntArray, ways: Floats, misfits: Floats, best: Floats
) -> None:
    """Fit each picture's candidates; coarsely first, and more finely those that come near the best.

    Args:
        pictures: (n, H, W, C) to be explained.
        memory: (m, H, W, C) remembered.
        rows: (n, k) candidates among the memory.
        ways: (n, k, 4) where to start: from the picture's frame to the canonical one.
        misfits: (n, k) filled with sums of squares over all pixels, in (gray levels)^2.
        best: (n, 4) filled with the way found for the best candidate.
    """
    k = rows.shape[1]
    found = np.empty((k, 4))
    for i in range(len(pictures)):
        box = extent(pictures[i])
        limit = math.inf
        found[:] = ways[i]
        for n_steps, stride in STAGES:
            least = math.inf
            for j in range(k):
                if limit == math.inf or misfits[i, j] <= limit:
                    misfits[i, j] = fit(pictures[i], memory[rows[i, j]], box, found[j], n_steps, stride)
                    least = min(least, misfits[i, j])
            limit = KEEP * least
        best[i] = found[misfits[i].argmin()]


@compiled
def extent(picture: Bytes) -> tuple[int, int, int, int]:
    """The box (top, bottom, left, right) of what differs from the border, and a margin around it."""
    H, W, C = picture.shape
    top, bottom, left, right = H, 0, W, 0
    for i in range(H):
        for j in range(W):
            for c in range(C):
                if abs(int(picture[i, j, c]) - int(picture[0, 0, c])) > CONTRAST:
                    top, bottom = min(top, i), max(bottom, i + 1)
                    left, right = min(left, j), max(right, j + 1)
    if top >= bottom:
        return 0, H, 0, W
    return max(top - MARGIN, 0), min(bottom + MARGIN, H), max(left - MARGIN, 0), min(right + MARGIN, W)


@compiled
def fit(picture: Bytes, exemplar: Bytes, box: Any, way: Floats, n_steps: int, stride: int) -> float:
    """The smallest misfit found from `way` on, which is moved there."""
    normal, right, step = np.empty((4, 4)), np.empty(4), np.empty(4)
    trial = way.copy()
    least = math.inf
    for number in range(n_steps + 1):
        misfit = accumulate(picture, exemplar, box, trial, stride, normal, right)
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
    picture: Bytes, exemplar: Bytes, box: Any, way: Floats, stride: int, normal: Floats, right: Floats
) -> float:
    """The misfit, and the normal equations of the Gauss-Newton step from here."""
    H, W, C = exemplar.shape
    top, bottom, left, end = box
    normal[:] = 0.0
    right[:] = 0.0
    a, b, cx, cy = way
    misfit = 0.0
    for i in range(top, bottom, stride):
        y = (2 * i + 1) / H - 1
        for j in range(left, end, stride):
            x = (2 * j + 1) / W - 1
            u = (a * x - b * y + cx + 1) * (0.5 * W) - 0.5
            v = (b * x + a * y + cy + 1) * (0.5 * H) - 0.5
            # Written so that what is not a number becomes 0 too: an index must never leave the picture.
            u = min(u, W - 1.0) if u > 0.0 else 0.0
            v = min(v, H - 1.0) if v > 0.0 else 0.0
            m, n = min(int(v), H - 2), min(int(u), W - 2)
            s, t = u - n, v - m
            for c in range(C):
                p, q = float(exemplar[m, n, c]), float(exemplar[m, n + 1, c])
                r, o = float(exemplar[m + 1, n, c]), float(exemplar[m + 1, n + 1, c])
                gx = ((q - p) * (1 - t) + (o - r) * t) * (0.5 * W)
                gy = ((r - p) * (1 - s) + (o - q) * s) * (0.5 * H)
                upper, lower = p + (q - p) * s, r + (o - r) * s
                error = upper + (lower - upper) * t - float(picture[i, j, c])
                misfit += error * error
                if gx != 0.0 or gy != 0.0:
                    j0, j1 = gx * x + gy * y, gy * x - gx * y
                    normal[0, 0] += j0 * j0
                    normal[0, 1] += j0 * j1
                    normal[0, 2] += j0 * gx
                    normal[0, 3] += j0 * gy
                    normal[1, 1] += j1 * j1
                    normal[1, 2] += j1 * gx
                    normal[1, 3] += j1 * gy
                    normal[2, 2] += gx * gx
                    normal[2, 3] += gx * gy
                    normal[3, 3] += gy * gy
                    right[0] -= j0 * error
                    right[1] -= j1 * error
                    right[2] -= gx * error
                    right[3] -= gy * error
    return misfit * stride * stride


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
