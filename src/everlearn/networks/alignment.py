"""Compiled alignment of exemplars to images by Gauss-Newton, in the image's own frame.

An exemplar E is warped onto an image I by u(p) = a p + c (a, c complex: a similarity). Gauss-Newton steps in
the four parameters minimize the sum over pixels of (E(u(p)) - I(p))^2. All candidates explain the same pixels
of the unwarped image, so their residuals are comparable.
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
"""Gauss-Newton steps and pixel stride of each stage."""
LAST_STEPS = 2
"""Steps of the last stage, which supersamples."""
CENTER = ((0.0, 0.0),)
"""Sample positions within a pixel, whose edges are at -1 and 1."""
MARGIN = 3
"""Pixels added around the foreground."""
PRUNE_RATIO = 4.0
"""A candidate reaches the next stage if its residual is at most this many times the smallest."""
CONVERGED = 0.98
"""A step that leaves more than this fraction of the residual is the last."""
CONTRAST = 12
"""Gray levels by which a foreground pixel differs from the corner pixel."""


@compiled
def align_candidates(
    images: Bytes, exemplars: Bytes, rows: IntArray, starts: Floats, residuals: Floats, best: Floats
) -> None:
    """Align each image's candidates in stages from coarse to fine, pruning poor candidates after each.

    Args:
        images: (n, H, W, C).
        exemplars: (m, H, W, C).
        rows: (n, k) candidates of each image, as rows of `exemplars`.
        starts: (n, k, 4) initial transforms from the image frame to the canonical frame.
        residuals: (n, k) output: sums of squares over all pixels, in squared gray levels.
        best: (n, 4) output: the transform of the candidate with the smallest residual.
    """
    k = rows.shape[1]
    found = np.empty((k, 4))
    for i in range(len(images)):
        box = foreground_box(images[i])
        residuals[i], found[:], limit = 0.0, starts[i], 0.0
        for n_steps, stride in STAGES:
            for j in range(k):
                if residuals[i, j] <= limit:
                    exemplar = exemplars[rows[i, j]]
                    residuals[i, j] = align(images[i], exemplar, box, found[j], n_steps, stride, CENTER)
            limit = PRUNE_RATIO * residuals[i].min()
        r = supersample_offset(found[residuals[i].argmin()])
        if r > 0.0:
            corners = ((-r, -r), (-r, r), (r, -r), (r, r))
            for j in range(k):
                if residuals[i, j] <= limit:
                    exemplar = exemplars[rows[i, j]]
                    residuals[i, j] = align(images[i], exemplar, box, found[j], LAST_STEPS, 1, corners)
        best[i] = found[residuals[i].argmin()]


@compiled
def supersample_offset(transform: Floats) -> float:
    """Offset of the four samples per pixel that match the image's sharpness; 0 for one sample.

    A pixel of an object that is smaller than its exemplar covers several exemplar pixels. The formula was
    fitted empirically over scales.
    """
    return min(max(0.9 * (1 - 1 / math.hypot(transform[0], transform[1])), 0.0), 0.5)


@compiled
def foreground_box(image: Bytes) -> tuple[int, int, int, int]:
    """Bounding box (top, bottom, left, right) of pixels unlike the corner pixel, with a margin."""
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
def align(
    image: Bytes, exemplar: Bytes, box: Any, transform: Floats, n_steps: int, stride: int, points: Any
) -> float:
    """The smallest residual of the Gauss-Newton steps; updates `transform` in place."""
    normal, right, step = np.empty((4, 4)), np.empty(4), np.empty(4)
    trial = transform.copy()
    least = math.inf
    for number in range(n_steps + 1):
        residual = normal_equations(image, exemplar, box, trial, stride, points, normal, right)
        converged = not residual < CONVERGED * least
        if residual < least:
            least = residual
            transform[:] = trial
        if converged or number == n_steps or not solve(normal, right, step):
            break
        trial += step
    return least


@compiled
def normal_equations(
    image: Bytes,
    exemplar: Bytes,
    box: Any,
    transform: Floats,
    stride: int,
    points: Any,
    normal: Floats,
    right: Floats,
) -> float:
    """The residual at a transform; fills the normal equations of the next Gauss-Newton step."""
    H, W, C = exemplar.shape
    top, bottom, left, end = box
    normal[:] = 0.0
    right[:] = 0.0
    a, b, cx, cy = transform
    weight = 1.0 / len(points)
    residual = 0.0
    for i in range(top, bottom, stride):
        for j in range(left, end, stride):
            for c in range(C):
                error, j0, j1, j2, j3 = -float(image[i, j, c]), 0.0, 0.0, 0.0, 0.0
                for dx, dy in points:
                    x, y = (2 * j + 1 + dx) / W - 1, (2 * i + 1 + dy) / H - 1
                    u, v = a * x - b * y + cx, b * x + a * y + cy
                    value, gx, gy = bilinear(exemplar, c, u, v)
                    error += weight * value
                    j0 += weight * (gx * x + gy * y)
                    j1 += weight * (gy * x - gx * y)
                    j2 += weight * gx
                    j3 += weight * gy
                residual += error * error
                if j2 != 0.0 or j3 != 0.0:
                    gradient = (j0, j1, j2, j3)
                    for m in range(4):
                        right[m] -= gradient[m] * error
                        for n in range(m, 4):
                            normal[m, n] += gradient[m] * gradient[n]
    return residual * stride * stride


@compiled
def bilinear(exemplar: Bytes, c: int, u: float, v: float) -> tuple[float, float, float]:
    """Bilinear interpolation of an exemplar and its gradient."""
    H, W, _ = exemplar.shape
    u, v = (u + 1) * (0.5 * W) - 0.5, (v + 1) * (0.5 * H) - 0.5
    # NaN becomes 0 too: an index must stay inside the image.
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
    """Solve the normal equations by Cholesky decomposition of the upper triangle; False if singular."""
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
