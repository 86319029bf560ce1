"""Light of an image of an exemplar: gain, offset and gradient, estimated robustly against occlusion.

The model of an image value at a point p of the exemplar is gain E(p) + offset + gradient . p. Gain and offset
of each colour channel may differ from the common values.
"""

import math

import numpy as np
import numpy.typing as npt

from everlearn.shapes.jit import compiled

Floats = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.float32]

N_LIGHT = 4
"""Parameters of the light: gain, offset and the two components of the gradient."""
TUKEY = 4.685
"""Residuals above this number of robust standard deviations have no weight."""
MIN_SIGMA = 4.0
"""Smallest robust standard deviation, in gray levels."""
CONTRAST_FLOOR = 24.0
"""Gray levels added to the contrast of an exemplar, which limit the effect of noise on flat ones."""
TOLERANCE = 0.35
"""Residual, as a share of the contrast, at which a point counts 0.6 as explained."""
N_REWEIGHTED = 2
"""Steps of reweighted least squares for the light."""
GAINS = (0.5, 0.7, 1.0, 1.4)
"""Initial gains, besides that of least squares."""
MIN_GAIN, MAX_GAIN = 0.3, 3.0
GAIN_PRIOR, GRADIENT_PRIOR = 25.0, 0.05
"""Weight of the priors of the light, for each point."""

CHANNEL_PRIOR = 100.0
"""Weight of the prior that the gain of a channel is the common one, for each point."""
MAX_CHANNEL_RATIO, MAX_CHANNEL_OFFSET = 1.5, 40.0
"""Maximum deviation of gain and offset of a channel from the common ones."""


@compiled
def initial_light(
    points: Floats,
    levels: Pixels,
    values: Floats,
    inside: Floats,
    work: Floats,
    residuals: Floats,
    light: Floats,
    deviation: float,
) -> bool:
    """Choose the light that explains most: the least-squares estimate, or a fixed gain without gradient.

    Least squares fail if a part of the object is covered, fixed gains if the light is uneven. Returns False
    if no point is inside the image.
    """
    n = len(points)
    for k in range(n):
        work[k] = 0.0 if math.isnan(inside[k]) else 1.0
    if not _least_squares(points, levels, values, work, light):
        return False
    residuals_of(points, levels, values, light, residuals)
    best, trial = explained(deviation, residuals, inside, light[0]), np.zeros(N_LIGHT)
    for gain in GAINS:
        m = 0
        for k in range(n):
            if not math.isnan(inside[k]):
                work[m] = values[k] - gain * levels[k]
                m += 1
        trial[0], trial[1] = gain, median(work[:m])
        residuals_of(points, levels, values, trial, residuals)
        score = explained(deviation, residuals, inside, gain)
        if score > best:
            best = score
            light[:] = trial
    return True


@compiled
def fit_light(
    points: Floats,
    levels: Pixels,
    values: Floats,
    inside: Floats,
    weights: Floats,
    residuals: Floats,
    light: Floats,
) -> bool:
    """Improve gain, offset and gradient by reweighted least squares; False if that is not possible."""
    n = len(points)
    for number in range(N_REWEIGHTED + 1):
        residuals_of(points, levels, values, light, residuals)
        m = 0
        for k in range(n):
            if not math.isnan(inside[k]):
                weights[m] = abs(residuals[k])
                m += 1
        if m == 0:
            return False
        sigma = max(1.4826 * median(weights[:m]), MIN_SIGMA)
        for k in range(n):
            r = residuals[k] / (TUKEY * sigma)
            weights[k] = (1.0 - r * r) ** 2 if abs(r) < 1.0 else 0.0
        if number < N_REWEIGHTED and not _least_squares(points, levels, values, weights, light):
            return False
    return True


@compiled
def residuals_of(points: Floats, levels: Pixels, values: Floats, light: Floats, residuals: Floats) -> None:
    """Write the differences between values and model."""
    for k in range(len(points)):
        residuals[k] = values[k] - light[0] * levels[k] - light[1]
        residuals[k] -= light[2] * points[k, 0] + light[3] * points[k, 1]


@compiled
def _least_squares(points: Floats, levels: Pixels, values: Floats, weights: Floats, light: Floats) -> bool:
    """The light of smallest weighted squared residuals; False if the equations are singular."""
    normal, right = np.zeros((N_LIGHT, N_LIGHT)), np.zeros(N_LIGHT)
    columns = np.empty(N_LIGHT)
    for k in range(len(points)):
        if weights[k] > 0.0:
            columns[0], columns[1], columns[2], columns[3] = levels[k], 1.0, points[k, 0], points[k, 1]
            for a in range(N_LIGHT):
                right[a] += weights[k] * columns[a] * values[k]
                for b in range(a, N_LIGHT):
                    normal[a, b] += weights[k] * columns[a] * columns[b]
    # A weak prior: gain 1, as if the exemplar had a contrast of a few levels more, and no gradient.
    total = max(normal[1, 1], 1.0)
    normal[0, 0] += GAIN_PRIOR * total
    right[0] += GAIN_PRIOR * total
    normal[2, 2] += GRADIENT_PRIOR * total
    normal[3, 3] += GRADIENT_PRIOR * total
    sum_values, sum_levels = right[1], normal[0, 1]
    if not solve(normal, right, light):
        return False
    if not MIN_GAIN < light[0] < MAX_GAIN:
        light[0] = min(max(light[0], MIN_GAIN), MAX_GAIN)
        light[1], light[2], light[3] = (sum_values - light[0] * sum_levels) / total, 0.0, 0.0
    return True


@compiled
def explained(deviation: float, residuals: Floats, inside: Floats, gain: float) -> float:
    """The share of points with a residual that is small relative to the contrast of the exemplar."""
    n = len(residuals)
    contrast = gain * (deviation + CONTRAST_FLOOR)
    scale = 0.5 / (TOLERANCE * contrast) ** 2
    total = 0.0
    for k in range(n):
        if not math.isnan(inside[k]):
            total += math.exp(-scale * residuals[k] * residuals[k])
    return total / n


@compiled
def explained_colours(
    image: Pixels, points: Floats, colours: Pixels, transform: Floats
) -> tuple[float, float]:
    """The shares of an image (H, W, 3) explained by the colours (n, 3) of an exemplar, and by one colour.

    The one colour is the median of each channel. If it explains as much, the match is not evidence: an
    exemplar that is mostly of one colour fits plain parts of any image.
    """
    n = len(points)
    values, inside, unused = np.empty(3 * n), np.empty(3 * n), np.empty(n)
    positions, levels, medians = np.empty((3 * n, 2)), np.empty(3 * n, np.float32), np.empty(3)
    weights, residuals, light = np.empty(3 * n), np.empty(3 * n), np.empty(N_LIGHT)
    for c in range(3):
        part = slice(c * n, (c + 1) * n)
        plane = np.ascontiguousarray(image[:, :, c])
        sample(plane, points, transform, values[part], inside[part], unused)
        positions[part], levels[part] = points, colours[:, c]
        weights[part] = levels[part]
        medians[c] = median(weights[part])
    contrast = deviation(levels)
    if not initial_light(positions, levels, values, inside, weights, residuals, light, contrast):
        return 0.0, 0.0
    if not fit_light(positions, levels, values, inside, weights, residuals, light):
        return 0.0, 0.0
    gains = _fit_channels(levels, values, weights, residuals, light)
    scale = 0.5 / (TOLERANCE * light[0] * (contrast + CONTRAST_FLOOR)) ** 2
    with_exemplar = _share(residuals, inside, scale)
    for k in range(3 * n):  # residuals of offset and gradient alone
        residuals[k] += gains[k // n] * (levels[k] - medians[k // n])
    return with_exemplar, _share(residuals, inside, scale)


@compiled
def _fit_channels(
    levels: Pixels, values: Floats, weights: Floats, residuals: Floats, light: Floats
) -> Floats:
    """Fit a gain and an offset of each channel to the residuals of the common light; returns the gains.

    A weak prior keeps them near the common values: not only coloured light but also another object changes
    them.
    """
    n, gains = len(levels) // 3, np.empty(3)
    for c in range(3):
        total, mean, change = 1e-9, 0.0, 0.0
        for k in range(c * n, (c + 1) * n):
            if weights[k] > 0.0:  # residuals outside of the image are NaN
                total += weights[k]
                mean += weights[k] * levels[k]
                change += weights[k] * residuals[k]
        mean, change = mean / total, change / total
        variance, covariance = CHANNEL_PRIOR * total, 0.0
        for k in range(c * n, (c + 1) * n):
            if weights[k] > 0.0:
                variance += weights[k] * (levels[k] - mean) ** 2
                covariance += weights[k] * (levels[k] - mean) * (residuals[k] - change)
        low, high = light[0] / MAX_CHANNEL_RATIO, light[0] * MAX_CHANNEL_RATIO
        gains[c] = min(max(light[0] + covariance / variance, low), high)
        offset = min(max(change, -MAX_CHANNEL_OFFSET), MAX_CHANNEL_OFFSET)
        for k in range(c * n, (c + 1) * n):
            residuals[k] -= (gains[c] - light[0]) * (levels[k] - mean) + offset
    return gains


@compiled
def _share(residuals: Floats, inside: Floats, scale: float) -> float:
    """The mean of exp(-scale r^2) over points, with the largest residual of three channels; 0 outside."""
    n = len(residuals) // 3
    total = 0.0
    for k in range(n):
        if not math.isnan(inside[k]):
            square = 0.0
            for c in range(3):
                square = max(square, residuals[c * n + k] ** 2)
            total += math.exp(-scale * square)
    return total / n


# Loops instead of NumPy functions, for which numba would import its implementations and SciPy in each
# process. That takes a tenth of a second.


@compiled
def mean(values: Pixels) -> float:
    """The mean of values."""
    total = 0.0
    for k in range(len(values)):
        total += values[k]
    return total / len(values)


@compiled
def deviation(values: Pixels) -> float:
    """The standard deviation of values."""
    center, total = mean(values), 0.0
    for k in range(len(values)):
        total += (values[k] - center) ** 2
    return math.sqrt(total / len(values))


@compiled
def median(values: Floats) -> float:
    """The median of at least one value, by quickselect; the values are reordered."""
    n = len(values)
    low, high, middle = 0, n - 1, n // 2
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    if n % 2:
        return float(values[middle])
    largest = values[0]
    for k in range(1, middle):
        largest = max(largest, values[k])
    return float(0.5 * (largest + values[middle]))


@compiled
def solve(normal: Floats, right: Floats, solution: Floats) -> bool:
    """Solve symmetric equations, given by their upper triangle, by Cholesky; False if they are singular."""
    n = len(right)
    for i in range(n):
        for k in range(i):
            normal[i, i] -= normal[k, i] * normal[k, i]
        if not normal[i, i] > 1e-12:
            return False
        normal[i, i] = math.sqrt(normal[i, i])
        for j in range(i + 1, n):
            for k in range(i):
                normal[i, j] -= normal[k, i] * normal[k, j]
            normal[i, j] /= normal[i, i]
    for i in range(n):
        solution[i] = right[i]
        for k in range(i):
            solution[i] -= normal[k, i] * solution[k]
        solution[i] /= normal[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            solution[i] -= normal[i, k] * solution[k]
        solution[i] /= normal[i, i]
    return True


@compiled
def sample(image: Pixels, points: Floats, transform: Floats, values: Floats, gx: Floats, gy: Floats) -> int:
    """Values and gradients of the image at the transformed points, NaN outside; returns the number inside."""
    H, W = image.shape
    n_inside = 0
    for k in range(len(points)):
        p, q = points[k, 0], points[k, 1]
        w = transform[2, 0] * p + transform[2, 1] * q + transform[2, 2]
        x = (transform[0, 0] * p + transform[0, 1] * q + transform[0, 2]) / w
        y = (transform[1, 0] * p + transform[1, 1] * q + transform[1, 2]) / w
        if not (x >= 0.0 and y >= 0.0 and x < W - 1.0 and y < H - 1.0 and w > 0.05):
            values[k], gx[k], gy[k] = math.nan, math.nan, math.nan
            continue
        j, i = int(x), int(y)
        s, t = x - j, y - i
        a, b, c, d = image[i, j], image[i, j + 1], image[i + 1, j], image[i + 1, j + 1]
        upper, lower = a + (b - a) * s, c + (d - c) * s
        values[k] = upper + (lower - upper) * t
        gx[k] = (b - a) * (1 - t) + (d - c) * t
        gy[k] = (c - a) * (1 - s) + (d - b) * s
        n_inside += not math.isnan(gx[k])  # hidden pixels are NaN, too
    return n_inside
