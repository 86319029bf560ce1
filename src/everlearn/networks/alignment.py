"""Compiled alignment of exemplars to images by Gauss-Newton, in the image's own frame.

An exemplar E is warped onto an image I by u(p) = a p + c (a, c complex: a similarity). Gauss-Newton steps in
the four parameters minimize the sum over pixels of (E(u(p)) - I(p))^2. All candidates explain the same pixels
of the unwarped image, so their residuals are comparable.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.networks.sampling import (
    N_LANES,
    N_PLANES,
    add_errors,
    add_pixels,
    add_residuals,
    add_samples,
    set_errors,
    set_samples,
)
from everlearn.rng import IntArray
from everlearn.shapes.jit import compiled

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

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


class Buffers(NamedTuple):
    """Arrays that are used again for every image, candidate and step.

    Rows are padded to a multiple of N_LANES; what is computed there is not used.
    """

    exemplar: Bytes  # (C * H * W,)
    xs: Floats  # (4, W) horizontal positions of the samples of each column
    pixels: Floats  # (H, C, W) negative gray levels of the image
    samples: Floats  # (C, 5, W) of one row of pixels: errors, and derivatives by the four parameters
    colours: Floats  # (5, C * W) the same with the channels of each pixel after each other
    sums: Floats  # (6, 4) the residual, the right side of the normal equations, their matrix
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
        np.empty(C * H * W, np.uint8),
        np.zeros((4, padded)), np.zeros((H, C, padded)), np.zeros((C, N_PLANES, padded)),
        np.zeros((N_PLANES, C * padded)),
        np.zeros((6, 4)), np.empty(4), np.empty(4),
    )  # fmt: skip


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
            for j in range(k):
                if residuals[i, j] <= limit:
                    residuals[i, j] = align(exemplars[rows[i, j]], grid, found[j], n_steps, work)
            least = smallest(residuals[i])
            if stage < len(STAGES):
                limit = PRUNE_RATIO * residuals[i, least]
        for m in range(4):
            best[i, m] = found[least, m]


@compiled
def smallest(values: Floats) -> int:
    """Index of the first smallest value."""
    least = 0
    for j in range(1, len(values)):
        if values[j] < values[least]:
            least = j
    return least


@compiled
def supersample_offset(transform: Floats) -> float:
    """Offset of the four samples per pixel that match the image's sharpness; 0 for one sample.

    A pixel of an object that is smaller than its exemplar covers several exemplar pixels. The formula was
    fitted empirically over scales.
    """
    return min(max(0.9 * (1 - 1 / math.hypot(transform[0], transform[1])), 0.0), 0.5)


@compiled
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
                work.pixels[i, c, k] = -float(image[i, left + k * stride, c])
    return Grid(W, top, bottom, n, stride, r)


@compiled
def set_exemplar(exemplar: Bytes, work: Buffers) -> None:
    """Copy an exemplar to the buffers, one channel after the other."""
    H, W, C = exemplar.shape
    for c in range(C):
        for i in range(H):
            for j in range(W):
                work.exemplar[(c * H + i) * W + j] = exemplar[i, j, c]


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
def align(exemplar: Bytes, grid: Grid, transform: Floats, n_steps: int, work: Buffers) -> float:
    """The smallest residual of the Gauss-Newton steps; updates `transform` in place."""
    set_exemplar(exemplar, work)
    trial, step = work.trial, work.step
    for m in range(4):
        trial[m] = transform[m]
    least = math.inf
    for number in range(n_steps + 1):
        is_last = number == n_steps
        residual = normal_equations(grid, trial, least, not is_last, work)
        converged = not residual < CONVERGED * least
        if residual < least:
            least = residual
            for m in range(4):
                transform[m] = trial[m]
        if converged or is_last or not solve(work.sums[2:], work.sums[1], step):
            break
        for m in range(4):
            trial[m] += step[m]
    return least


@compiled
def normal_equations(
    grid: Grid, transform: Floats, limit: float, with_gradient: bool, work: Buffers
) -> float:
    """The residual at a transform, or a part of it that is not below `limit`.

    With gradients, fills the normal equations of the next Gauss-Newton step in `work`.
    """
    work.sums[:] = 0.0
    area, C = float(grid.stride * grid.stride), len(work.samples)
    for i in range(grid.top, grid.bottom, grid.stride):
        sample_row(grid, i, transform, with_gradient, work)
        samples = work.samples[0] if C == 1 else interleaved(grid.n_columns, work)
        if with_gradient:
            add_pixels(samples, work.sums, samples.shape[1], grid.n_columns * C)
        else:
            add_residuals(samples, work.sums, samples.shape[1], grid.n_columns * C)
        if work.sums[0, 0] * area >= limit:
            break
    return work.sums[0, 0] * area


@compiled
def interleaved(n: int, work: Buffers) -> Floats:
    """The samples of a row of colour pixels with the channels of each pixel after each other."""
    C, planes, _ = work.samples.shape
    for plane in range(planes):
        for k in range(n):
            for c in range(C):
                work.colours[plane, k * C + c] = work.samples[c, plane, k]
    return work.colours


@compiled
def sample_row(grid: Grid, i: int, transform: Floats, with_gradient: bool, work: Buffers) -> None:
    """Errors of the pixels of row i and, with gradients, their derivatives into `work.samples`."""
    (H, C, padded), W = work.pixels.shape, grid.width
    a, b, cx, cy = transform[0], transform[1], transform[2], transform[3]
    n_samples, n_blocks = 1 if grid.r == 0.0 else 4, (grid.n_columns + N_LANES - 1) // N_LANES
    for part in range(n_samples):
        y = (2 * i + 1 + (-grid.r if part % 2 == 0 else grid.r)) / H - 1
        scalars = a, b, cx, cy, y, 0.5 * W, 0.5 * H, W - 1.0, H - 1.0, 1.0 / n_samples
        for c in range(C):
            target, places = work.samples[c], (c * H * W, part * padded, (i * C + c) * padded)
            if part == 0 and with_gradient:
                set_samples(
                    work.exemplar, work.xs, work.pixels, target, *places, W, padded, n_blocks, *scalars
                )
            elif part == 0:
                set_errors(
                    work.exemplar, work.xs, work.pixels, target, *places, W, padded, n_blocks, *scalars
                )
            elif with_gradient:
                add_samples(
                    work.exemplar, work.xs, work.pixels, target, *places, W, padded, n_blocks, *scalars
                )
            else:
                add_errors(
                    work.exemplar, work.xs, work.pixels, target, *places, W, padded, n_blocks, *scalars
                )


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
