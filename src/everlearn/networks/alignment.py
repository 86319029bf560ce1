"""Compiled alignment of exemplars to images by Gauss-Newton, in the image's own frame.

An exemplar E is warped onto an image I by u(p) = a p + c (a, c complex: a similarity). Gauss-Newton steps in
the four parameters minimize the sum over pixels of (E(u(p)) - I(p))^2. All candidates explain the same pixels
of the unwarped image, so their residuals are comparable.

With a scale s, an error e counts as e^2 q with q = s^2 / (s^2 + e^2) (Geman and McClure) instead of e^2. This
is at most s^2, so pixels that an occluder hides cost every candidate about the same; each step weights pixels
by q^2. The scale decreases from stage to stage. The kind of residual is known at compile time, so squared
errors cost nothing extra.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.networks.sampling import N_LANES, N_SUMS, add_row, add_row_residuals, scale_at
from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled, compiled_in_place

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
F = np.float32
U = np.uint64  # numba checks signed indices for negative values, which prevents vectorization

STAGES = ((1, 2), (2, 2), (2, 1))
"""Gauss-Newton steps and pixel stride of each stage."""
LAST_STEPS = 2
"""Steps of the last stage, which supersamples."""
MARGIN = 3
"""Pixels added around the foreground."""
PRUNE_RATIO = 4.0
"""A candidate reaches the next stage if its residual is at most this many times the smallest."""
CONVERGED = 0.98
"""A step that leaves more than this fraction of the residual is the last."""
CONTRAST = 12
"""Gray levels by which a foreground pixel differs from the corner pixel."""


STAGE_SCALES = (16.0, 4.0, 1.0, 1.0)
"""Scale of the robust residual in each stage, relative to that of the last; the first ones smooth it."""
MIN_SCALE = 10.0
"""Gray levels by which a pixel may differ without losing its weight, in an image without noise."""
NOISE_FACTOR = 2.0
"""Scale of the robust residual in median distances from the background."""


class Buffers(NamedTuple):
    """Arrays that are used again for every image, candidate and step.

    Rows are padded to a multiple of N_LANES; what is computed there is not used.
    """

    exemplar: npt.NDArray[np.uint32]  # (C * H * W,) each pixel with its three neighbours
    xs: Singles  # (4, W) horizontal positions of the samples of each column
    ys: Singles  # (4,) vertical positions of the samples of a row
    pixels: Singles  # (H, C, W) gray levels of the image
    sums: Singles  # (15, lanes) residual, right side and matrix of the normal equations, in parts
    normal: Floats  # (5, 4) right side and matrix
    step: Floats  # (4,)
    trial: Floats  # (4,)


class Grid(NamedTuple):
    """The pixels that are compared: every `stride`-th of a box, each by one sample or by four at offset r."""

    width: int  # of the image
    top: int
    bottom: int
    n_columns: int
    stride: int
    r: float


@compiled
def new_buffers(H: int, W: int, C: int) -> Buffers:
    """Buffers for images of a size."""
    padded = (W + N_LANES - 1) // N_LANES * N_LANES
    return Buffers(
        np.zeros(C * H * W, np.uint32), np.zeros((4, padded), F), np.zeros(4, F), np.zeros((H, C, padded), F),
        np.zeros((N_SUMS, N_LANES), F), np.zeros((5, 4)), np.empty(4), np.empty(4),
    )  # fmt: skip


@compiled
def align_candidates(
    images: Bytes,
    exemplars: Bytes,
    rows: IntArray,
    starts: Floats,
    residuals: Floats,
    best: Floats,
    scales: Floats | None,
) -> None:
    """Align each image's candidates in stages from coarse to fine, pruning poor candidates after each.

    Args:
        images: (n, H, W, C).
        exemplars: (m, H, W, C).
        rows: (n, k) candidates of each image, as rows of `exemplars`.
        starts: (n, k, 4) initial transforms from the image frame to the canonical frame.
        residuals: (n, k) output: sums of squares over all pixels, in squared gray levels.
        best: (n, 4) output: the transform of the candidate with the smallest residual.
        scales: (n, 4) of the robust residual of each image and stage, or None for squared errors.
    """
    k = rows.shape[1]
    found, work = np.empty((k, 4)), new_buffers(*images.shape[1:])
    for i in range(len(images)):
        box, least, limit = foreground_box(images[i]), 0, 0.0
        for j in range(k):
            residuals[i, j] = 0.0
            for m in range(4):
                found[j, m] = starts[i, j, m]
        for stage in range(len(STAGES) + 1):
            n_steps, stride = STAGES[stage] if stage < len(STAGES) else (LAST_STEPS, 1)
            r = 0.0 if stage < len(STAGES) else supersample_offset(found[least])
            if stage == len(STAGES) and r == 0.0:
                break
            grid = place(images[i], box, stride, r, work)
            scale = scale_at(scales, i, stage)
            for j in range(k):
                if residuals[i, j] <= limit:
                    residuals[i, j] = align(exemplars[rows[i, j]], grid, found[j], n_steps, scale, work)
            least = smallest(residuals[i])
            if stage < len(STAGES):
                limit = PRUNE_RATIO * residuals[i, least]
        for m in range(4):
            best[i, m] = found[least, m]


def residual_scales(images: Bytes) -> Floats:
    """Scales (n, stages) of the robust residual of images (n, H, W, C), from the noise of their background.

    The background has more than half of the pixels, so the median distance from the median level is that of
    noise, texture and light, and not of objects.
    """
    levels = images.reshape(len(images), -1, images.shape[3])
    distances = np.abs(levels - np.median(levels, axis=1, keepdims=True))
    noise = np.median(distances.reshape(len(images), -1), axis=1)
    return np.maximum(MIN_SCALE, NOISE_FACTOR * noise)[:, None] * np.array(STAGE_SCALES)


@compiled_in_place
def smallest(values: Floats) -> int:
    """Index of the first smallest value."""
    least = 0
    for j in range(1, len(values)):
        if values[j] < values[least]:
            least = j
    return least


@compiled_in_place
def supersample_offset(transform: Floats) -> float:
    """Offset of the four samples per pixel that match the image's sharpness; 0 for one sample.

    A pixel of an object that is smaller than its exemplar covers several exemplar pixels. The formula was
    fitted empirically over scales.
    """
    return min(max(0.9 * (1 - 1 / math.hypot(transform[0], transform[1])), 0.0), 0.5)


@compiled_in_place
def place(image: Bytes, box: Any, stride: int, r: float, work: Buffers) -> Grid:
    """Copy the pixels that are compared to the buffers, and the horizontal positions of their samples."""
    (_, W, C), (top, bottom, left, right) = image.shape, box
    n = (right - left + stride - 1) // stride
    for k in range(n):
        middle = 2 * (left + k * stride) + 1
        low, high = (middle - r) / W - 1, (middle + r) / W - 1
        work.xs[0, k], work.xs[1, k], work.xs[2, k], work.xs[3, k] = low, low, high, high
    for i in range(top, bottom, stride):
        for c in range(C):
            for k in range(n):
                work.pixels[i, c, k] = F(image[i, left + k * stride, c])
    return Grid(W, top, bottom, n, stride, r)


@compiled_in_place
def set_exemplar(exemplar: Bytes, work: Buffers) -> None:
    """Copy an exemplar to the buffers, one channel after the other; a word holds a pixel and neighbours."""
    H, W, C = exemplar.shape
    flat, target = exemplar.reshape(-1), work.exemplar
    right, below = U(C), U(C * W)
    for c in range(U(C)):
        for k in range(U(H * W - W - 1)):
            at = k * U(C) + c
            upper = np.uint32(flat[at]) | np.uint32(flat[at + right]) << np.uint32(8)
            lower = np.uint32(flat[at + below]) | np.uint32(flat[at + below + right]) << np.uint32(8)
            target[c * U(H * W) + k] = upper | lower << np.uint32(16)


@compiled_in_place
def foreground_box(image: Bytes) -> tuple[int, int, int, int]:
    """Bounding box (top, bottom, left, right) of pixels unlike the corner pixel, with a margin."""
    H, W, C = image.shape
    top, bottom, left, right = H, 0, W, 0
    for i in range(H):
        for j in range(W):
            for c in range(C):
                # Bytes become unsigned integers in numba's `int`, whose differences are never negative.
                if abs(np.int64(image[i, j, c]) - np.int64(image[0, 0, c])) > CONTRAST:
                    top, bottom = min(top, i), max(bottom, i + 1)
                    left, right = min(left, j), max(right, j + 1)
    if top >= bottom:
        return 0, H, 0, W
    return max(top - MARGIN, 0), min(bottom + MARGIN, H), max(left - MARGIN, 0), min(right + MARGIN, W)


@compiled_in_place
def align(
    exemplar: Bytes, grid: Grid, transform: Floats, n_steps: int, scale: float | None, work: Buffers
) -> float:
    """The smallest residual of the Gauss-Newton steps; updates `transform` in place."""
    set_exemplar(exemplar, work)
    trial, step = work.trial, work.step
    for m in range(4):
        trial[m] = transform[m]
    least = math.inf
    for number in range(n_steps + 1):
        is_last = number == n_steps
        residual = normal_equations(grid, trial, least, not is_last, scale, work)
        converged = not residual < CONVERGED * least
        if residual < least:
            least = residual
            for m in range(4):
                transform[m] = trial[m]
        if converged or is_last or not solve(work.normal[1:], work.normal[0], step):
            break
        for m in range(4):
            trial[m] += step[m]
    return least


@compiled_in_place
def normal_equations(
    grid: Grid, transform: Floats, limit: float, with_gradient: bool, scale: float | None, work: Buffers
) -> float:
    """The residual at a transform, or a part of it that is not below `limit`.

    With gradients, fills the normal equations of the next Gauss-Newton step in `work`.
    """
    (H, C, padded), W, n = work.pixels.shape, grid.width, grid.n_columns
    area, residual = float(grid.stride * grid.stride), 0.0
    n_parts, ys = 1 if grid.r == 0.0 else 4, work.ys
    a, b, cx, cy = F(transform[0]), F(transform[1]), F(transform[2]), F(transform[3])
    scalars = a, b, cx, cy, F(0.5 * W), F(0.5 * H), F(W - 1), F(H - 1)
    work.sums[:] = F(0)
    for i in range(grid.top, grid.bottom, grid.stride):
        ys[0] = ys[2] = (2 * i + 1 - grid.r) / H - 1
        ys[1] = ys[3] = (2 * i + 1 + grid.r) / H - 1
        for c in range(C):
            places = c * H * W, (i * C + c) * padded, W, padded, n_parts, n
            arrays = work.exemplar, work.xs, ys, work.pixels, work.sums
            if with_gradient:
                residual = area * float(add_row(*arrays, *places, scale, *scalars))
            else:
                residual = area * float(add_row_residuals(*arrays, *places, scale, *scalars))
        if residual >= limit:
            break
    if with_gradient:
        add_lanes(work)
    return residual


@compiled_in_place
def add_lanes(work: Buffers) -> None:
    """Add up the parts of the normal equations."""
    number = 1
    for i in range(-1, 4):
        for j in range(max(i, 0), 4):
            total = 0.0
            for lane in range(N_LANES):
                total += float(work.sums[number, lane])
            work.normal[i + 1, j] = -total if i < 0 else total
            number += 1


@compiled_in_place
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
