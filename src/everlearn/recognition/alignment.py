"""Robust alignment of an exemplar to an image: similarity, affine or perspective, with light and occlusion.

The model of an image Q at the position that the transform W gives to a point p of the exemplar E is
Q(W p) = gain E(p) + offset + gradient . p, where gain, offset and gradient describe the light. Transform and
light are estimated together by Gauss-Newton steps on luminance. Points with large residuals have no weight
(Tukey's biweight), so covered parts of the object are ignored. The background outside the mask is not used.
"""

import math

import numpy as np

from everlearn.recognition.light import (
    N_LIGHT,
    Floats,
    Pixels,
    deviation,
    explained,
    fit_light,
    initial_light,
    residuals_of,
    sample,
    solve,
)
from everlearn.shapes.jit import compiled

TURN_STEP, SCALE_STEP, SHIFT_STEP = math.radians(6.0), 1.07, 0.07
"""Changes of a transform that are tried before the first step."""
DAMPING = 1e-3


@compiled
def luminance(image: Pixels) -> Pixels:
    """(H, W, 3) -> (H, W)."""
    H, W, _ = image.shape
    out = np.empty((H, W), np.float32)
    for i in range(H):
        for j in range(W):
            out[i, j] = 0.299 * image[i, j, 0] + 0.587 * image[i, j, 1] + 0.114 * image[i, j, 2]
    return out


@compiled
def align(
    image: Pixels, points: Floats, levels: Pixels, transform: Floats, n_parameters: int, n_steps: int
) -> float:
    """Refine the transform of an exemplar in place; returns the share of the exemplar that it explains.

    Args:
        image: (H, W) luminance.
        points: (n, 2) positions in the exemplar, from -1 to 1.
        levels: (n,) luminance of the exemplar at these points.
        transform: (3, 3) from the exemplar's positions to pixels of the image; updated.
        n_parameters: 4 for a similarity, 6 for an affine transform, 8 for a perspective one.
        n_steps: largest number of Gauss-Newton steps.
    """
    n, size = len(points), n_parameters + N_LIGHT
    values, gx, gy = np.empty(n), np.empty(n), np.empty(n)
    weights, residuals = np.empty(n), np.empty(n)
    trial, best, contrast = transform.copy(), -1.0, deviation(levels)
    light, step = np.empty(N_LIGHT), np.empty(size)
    for number in range(n_steps + 1):
        if sample(image, points, trial, values, gx, gy) < 0.3 * n:
            break
        if number == 0 and not initial_light(points, levels, values, gx, weights, residuals, light, contrast):
            break
        if not fit_light(points, levels, values, gx, weights, residuals, light):
            break
        score = explained(contrast, residuals, gx, light[0])
        if score > best:
            best = score
            transform[:] = trial
        elif number > 2 and score < best - 0.05:
            break
        if number == n_steps or not gauss_newton(
            points, levels, gx, gy, weights, residuals, light, trial, n_parameters, step
        ):
            break
    return best


@compiled
def start_scores(image: Pixels, points: Floats, levels: Pixels, transforms: Floats) -> Floats:
    """The share (n,) of the exemplar that each transform (n, 3, 3) explains as it is; -1 outside."""
    n = len(points)
    values, gx, gy = np.empty(n), np.empty(n), np.empty(n)
    work, residuals, light = np.empty(n), np.empty(n), np.empty(N_LIGHT)
    scores, contrast = np.empty(len(transforms)), deviation(levels)
    for i in range(len(transforms)):
        scores[i] = -1.0
        if sample(image, points, transforms[i], values, gx, gy) < 0.3 * n:
            continue
        if not initial_light(points, levels, values, gx, work, residuals, light, contrast):
            continue
        residuals_of(points, levels, values, light, residuals)
        scores[i] = explained(contrast, residuals, gx, light[0])
    return scores


@compiled
def best_start(image: Pixels, points: Floats, levels: Pixels, transform: Floats, is_joint: bool) -> None:
    """Replace a transform by the best of its neighbours, changed by half a template step.

    Shifts are searched first, then rotations and scales. A joint search over all combinations takes four
    times as long; it is needed if a part of the object is hidden.
    """
    turns, shifts = np.zeros((9, 4)), np.zeros((9, 4))
    for k in range(9):
        i, j = k // 3 - 1.0, k % 3 - 1.0
        shifts[k, 0], shifts[k, 1] = i * SHIFT_STEP, j * SHIFT_STEP
        turns[k, 2], turns[k, 3] = i * TURN_STEP, j * math.log(SCALE_STEP)
    if is_joint:
        changes = np.empty((81, 4))
        for k in range(81):
            changes[k] = turns[k // 9] + shifts[k % 9]
        best_change(image, points, levels, transform, changes)
    else:
        best_change(image, points, levels, transform, shifts)
        best_change(image, points, levels, transform, turns)


@compiled
def best_change(image: Pixels, points: Floats, levels: Pixels, transform: Floats, changes: Floats) -> None:
    """Apply the best of some changes (n, 4) to a transform: shift in x and y, rotation, log scale."""
    trials, change = np.empty((len(changes), 3, 3)), np.eye(3)
    for i in range(len(changes)):
        scale = math.exp(changes[i, 3])
        a, b = scale * math.cos(changes[i, 2]), scale * math.sin(changes[i, 2])
        change[0, 0], change[0, 1], change[1, 0], change[1, 1] = a, b, -b, a
        change[0, 2], change[1, 2] = changes[i, 0], changes[i, 1]
        multiply(transform, change, trials[i])
    scores = start_scores(image, points, levels, trials)
    best = 0
    for i in range(1, len(scores)):
        if scores[i] > scores[best]:
            best = i
    if scores[best] > -1.0:
        transform[:] = trials[best]


@compiled
def multiply(first: Floats, second: Floats, product: Floats) -> None:
    """Write the product of two matrices (3, 3); numba's own needs SciPy."""
    for i in range(3):
        for j in range(3):
            product[i, j] = (
                first[i, 0] * second[0, j] + first[i, 1] * second[1, j] + first[i, 2] * second[2, j]
            )


@compiled
def gauss_newton(
    points: Floats,
    levels: Pixels,
    gx: Floats,
    gy: Floats,
    weights: Floats,
    residuals: Floats,
    light: Floats,
    transform: Floats,
    n_parameters: int,
    step: Floats,
) -> bool:
    """One step of transform and light together; updates the transform. False if the equations are singular.

    The transform is composed with a small one on its side of the exemplar: W <- W (1 + d).
    """
    size = n_parameters + N_LIGHT
    normal, right = np.zeros((size, size)), np.zeros(size)
    row = np.empty(size)
    for k in range(len(points)):
        if weights[k] <= 0.0:
            continue
        p, q = points[k, 0], points[k, 1]
        w = transform[2, 0] * p + transform[2, 1] * q + transform[2, 2]
        x = (transform[0, 0] * p + transform[0, 1] * q + transform[0, 2]) / w
        y = (transform[1, 0] * p + transform[1, 1] * q + transform[1, 2]) / w
        # Derivative of the image with respect to the position in the exemplar.
        dp = (
            gx[k] * (transform[0, 0] - x * transform[2, 0]) + gy[k] * (transform[1, 0] - y * transform[2, 0])
        ) / w
        dq = (
            gx[k] * (transform[0, 1] - x * transform[2, 1]) + gy[k] * (transform[1, 1] - y * transform[2, 1])
        ) / w
        if n_parameters == 4:
            row[0], row[1], row[2], row[3] = dp, dq, dp * p + dq * q, dq * p - dp * q
        else:
            row[0], row[1], row[2], row[3], row[4], row[5] = dp, dq, dp * p, dp * q, dq * p, dq * q
        if n_parameters == 8:
            radial = dp * p + dq * q
            row[6], row[7] = -radial * p, -radial * q
        row[n_parameters] = -levels[k]
        row[n_parameters + 1] = -1.0
        row[n_parameters + 2] = -p
        row[n_parameters + 3] = -q
        for a in range(size):
            right[a] -= weights[k] * row[a] * residuals[k]
            for b in range(a, size):
                normal[a, b] += weights[k] * row[a] * row[b]
    total = max(-normal[0, n_parameters + 1], 1.0)
    for a in range(size):
        normal[a, a] += DAMPING * normal[a, a] + 1e-6 * abs(total)
    if not solve(normal, right, step):
        return False
    update = np.eye(3)
    if n_parameters == 4:
        update[0, 0] += step[2]
        update[1, 1] += step[2]
        update[0, 1] -= step[3]
        update[1, 0] += step[3]
    else:
        update[0, 0] += step[2]
        update[0, 1] += step[3]
        update[1, 0] += step[4]
        update[1, 1] += step[5]
    update[0, 2], update[1, 2] = step[0], step[1]
    if n_parameters == 8:
        update[2, 0], update[2, 1] = step[6], step[7]
    largest = 0.0
    for a in range(n_parameters):
        largest = max(largest, abs(step[a]))
    if not largest < 1.0:
        return False
    before = transform.copy()
    multiply(before, update, transform)
    transform /= transform[2, 2]
    return largest > 1e-4
