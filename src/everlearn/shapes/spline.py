"""Closed interpolating splines of order 1 and 3: geometry and a test for self-intersection.

A spline has one segment per vertex. `cubics` (n, 2, 4) holds, for each segment and axis, the coefficients of
a cubic polynomial in s from 0 to 1. Only + - * / and sqrt are used, which all processors round alike.
"""

import math

from everlearn.rng import FloatArray
from everlearn.shapes.jit import ZERO, compiled_in_place

CHORDS_PER_SEGMENT = 12

# Nodes and weights of five-point Gauss-Legendre quadrature on 0..1.
_NEAR = math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 6
_FAR = math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 6
_NEAR_WEIGHT = (322 + 13 * math.sqrt(70)) / 1800
_FAR_WEIGHT = (322 - 13 * math.sqrt(70)) / 1800
NODES = (0.5 - _FAR, 0.5 - _NEAR, 0.5, 0.5 + _NEAR, 0.5 + _FAR)
WEIGHTS = (_FAR_WEIGHT, _NEAR_WEIGHT, 64 / 225, _NEAR_WEIGHT, _FAR_WEIGHT)

X, Y = ZERO, ZERO + 1
"""The axes."""


@compiled_in_place
def evaluate(cubics: FloatArray, segment: int, axis: int, s: float) -> float:
    """A coordinate of a segment at s."""
    c2, c3 = cubics[segment, axis, 2], cubics[segment, axis, 3]
    return float(cubics[segment, axis, 0] + s * (cubics[segment, axis, 1] + s * (c2 + s * c3)))


@compiled_in_place
def derivative(cubics: FloatArray, segment: int, axis: int, s: float) -> float:
    """The derivative of a coordinate with respect to s."""
    c2, c3 = cubics[segment, axis, 2], cubics[segment, axis, 3]
    return float(cubics[segment, axis, 1] + s * (2.0 * c2 + s * 3.0 * c3))


@compiled_in_place
def second_derivative(cubics: FloatArray, segment: int, axis: int, s: float) -> float:
    """The second derivative of a coordinate with respect to s."""
    return float(2.0 * cubics[segment, axis, 2] + 6.0 * s * cubics[segment, axis, 3])


@compiled_in_place
def interpolate(
    vertices: FloatArray, n: int, order: int, chords: FloatArray, work: FloatArray, cubics: FloatArray
) -> float:
    """Interpolate n vertices by a closed spline of order 1 or 3; returns the length of the shortest chord."""
    shortest = math.inf
    for i in range(n):
        j = i + 1 if i < n - 1 else 0
        dx = vertices[j, 0] - vertices[i, 0]
        dy = vertices[j, 1] - vertices[i, 1]
        chords[i] = math.sqrt(dx * dx + dy * dy)
        shortest = min(shortest, chords[i])
        work[0, i] = 0.0
    for axis in range(2):
        if order == 3:
            _solve_periodic(vertices, axis, n, chords, work)
        for i in range(n):
            j = i + 1 if i < n - 1 else 0
            square = chords[i] * chords[i]
            here, there = square * work[0, i], square * work[0, j]
            cubics[i, axis, 0] = vertices[i, axis]
            cubics[i, axis, 1] = vertices[j, axis] - vertices[i, axis] - (2.0 * here + there) / 6.0
            cubics[i, axis, 2] = 0.5 * here
            cubics[i, axis, 3] = (there - here) / 6.0
    return shortest


@compiled_in_place
def _solve_periodic(vertices: FloatArray, axis: int, n: int, chords: FloatArray, work: FloatArray) -> None:
    """Second derivatives of the periodic cubic spline at its vertices, into work[0].

    The system is cyclic tridiagonal. The Sherman-Morrison formula reduces it to two tridiagonal systems,
    whose solutions are work[0] and work[1].
    """
    solution, corrections, ratios = work[0], work[1], work[2]
    corner = chords[n - 1]
    shift = -2.0 * (chords[n - 1] + chords[0])
    for i in range(n):
        last, following = i - 1 if i > 0 else n - 1, i + 1 if i < n - 1 else 0
        before, after = chords[last], chords[i]
        diagonal = 2.0 * (before + after)
        towards = vertices[following, axis] - vertices[i, axis]
        from_last = vertices[i, axis] - vertices[last, axis]
        right = 6.0 * (towards / after - from_last / before)
        correction = 0.0
        if i == 0:
            diagonal -= shift
            correction = shift
            pivot = diagonal
            solution[0], corrections[0] = right / pivot, correction / pivot
        else:
            if i == n - 1:
                diagonal -= corner * corner / shift
                correction = corner
            pivot = diagonal - before * ratios[i - 1]
            solution[i] = (right - before * solution[i - 1]) / pivot
            corrections[i] = (correction - before * corrections[i - 1]) / pivot
        ratios[i] = after / pivot
    for i in range(n - 2, -1, -1):
        solution[i] -= ratios[i] * solution[i + 1]
        corrections[i] -= ratios[i] * corrections[i + 1]
    ratio = corner / shift
    factor = (solution[0] + ratio * solution[n - 1]) / (1.0 + corrections[0] + ratio * corrections[n - 1])
    for i in range(n):
        solution[i] -= factor * corrections[i]


@compiled_in_place
def principal_axis(cubics: FloatArray, n: int, chords: FloatArray) -> tuple[float, float]:
    """The first principal axis of the curve, weighted by chord length; its larger component is positive."""
    length = sx = sy = sxx = sxy = syy = 0.0
    for i in range(n):
        length += chords[i]
        for q in range(5):
            weight = WEIGHTS[q] * chords[i]
            x, y = evaluate(cubics, i, X, NODES[q]), evaluate(cubics, i, Y, NODES[q])
            sx += weight * x
            sy += weight * y
            sxx += weight * x * x
            sxy += weight * x * y
            syy += weight * y * y
    difference = (sxx - syy) * length - sx * sx + sy * sy
    double = 2.0 * (sxy * length - sx * sy)
    hypotenuse = math.sqrt(difference * difference + double * double)
    if hypotenuse == 0.0:
        return 0.0, 1.0
    cos = math.sqrt(0.5 * (1.0 + abs(difference) / hypotenuse))
    sin = 0.5 * double / (hypotenuse * cos)
    if difference >= 0.0:
        return cos, sin
    return sin, cos


@compiled_in_place
def rotate(cubics: FloatArray, n: int, cos: float, sin: float) -> None:
    """Rotate the curve about the origin."""
    for i in range(n):
        for power in range(4):
            x, y = cubics[i, 0, power], cubics[i, 1, power]
            cubics[i, 0, power] = cos * x - sin * y
            cubics[i, 1, power] = sin * x + cos * y


@compiled_in_place
def normalize(cubics: FloatArray, n: int) -> float:
    """Move the centroid to the origin and scale the bounding box to 1 x 1; returns the new area."""
    area, x, y = centroid(cubics, n)
    left, right = extent(cubics, n, X)
    top, bottom = extent(cubics, n, Y)
    width, height = right - left, bottom - top
    for i in range(n):
        cubics[i, 0, 0] -= x
        cubics[i, 1, 0] -= y
        for power in range(4):
            cubics[i, 0, power] /= width
            cubics[i, 1, power] /= height
    return area / (width * height)


@compiled_in_place
def centroid(cubics: FloatArray, n: int) -> tuple[float, float, float]:
    """Signed area and centroid (x, y), by Green's theorem."""
    area = x_moment = y_moment = 0.0
    for i in range(n):
        for q in range(5):
            s, weight = NODES[q], WEIGHTS[q]
            x, y = evaluate(cubics, i, X, s), evaluate(cubics, i, Y, s)
            dy = weight * derivative(cubics, i, Y, s)
            area += x * dy
            x_moment += 0.5 * x * x * dy
            y_moment += x * y * dy
    return area, x_moment / area, y_moment / area


@compiled_in_place
def extent(cubics: FloatArray, n: int, axis: int) -> tuple[float, float]:
    """Minimum and maximum of a coordinate of the curve."""
    low, high = math.inf, -math.inf
    for i in range(n):
        start = cubics[i, axis, 0]
        low, high = min(low, start), max(high, start)
        for s in _critical_points(cubics, i, axis):
            if 0.0 < s < 1.0:
                value = evaluate(cubics, i, axis, s)
                low, high = min(low, value), max(high, value)
    return low, high


@compiled_in_place
def _critical_points(cubics: FloatArray, segment: int, axis: int) -> tuple[float, float]:
    """The zeros of the derivative of a segment; -1 if there is none."""
    c = cubics[segment, axis, 1]
    b = cubics[segment, axis, 2]
    a = 3.0 * cubics[segment, axis, 3]
    discriminant = b * b - a * c
    if discriminant <= 0.0:
        return -1.0, -1.0
    root = math.sqrt(discriminant)
    q = -(b + root) if b >= 0.0 else root - b
    return c / q, q / a if a != 0.0 else -1.0


@compiled_in_place
def is_simple(cubics: FloatArray, n: int, order: int, points: FloatArray) -> bool:
    """Whether a closed spline around the origin does not intersect itself, on 12 chords per segment.

    `points` is a buffer for the ends of the chords.
    """
    steps = CHORDS_PER_SEGMENT if order > 1 else 1
    if _is_star_shaped(cubics, n, steps):  # as most outlines are
        return True
    for i in range(n):
        for step in range(steps):
            points[i * steps + step, 0] = evaluate(cubics, i, X, step / steps)
            points[i * steps + step, 1] = evaluate(cubics, i, Y, step / steps)
    return not _self_intersects(points[: n * steps])


@compiled_in_place
def _is_star_shaped(cubics: FloatArray, n: int, steps: int) -> bool:
    """Whether the polar angle increases along the whole curve."""
    for i in range(n):
        x0, x1, x2, x3 = cubics[i, 0, 0], cubics[i, 0, 1], cubics[i, 0, 2], cubics[i, 0, 3]
        y0, y1, y2, y3 = cubics[i, 1, 0], cubics[i, 1, 1], cubics[i, 1, 2], cubics[i, 1, 3]
        for step in range(steps):
            s = step / steps
            x, y = x0 + s * (x1 + s * (x2 + s * x3)), y0 + s * (y1 + s * (y2 + s * y3))
            dx, dy = x1 + s * (2.0 * x2 + s * 3.0 * x3), y1 + s * (2.0 * y2 + s * 3.0 * y3)
            if x * dy - y * dx <= 0.0:
                return False
    return True


@compiled_in_place
def _self_intersects(points: FloatArray) -> bool:
    n = len(points)
    for i in range(n - 2):
        ax, ay, bx, by = points[i, 0], points[i, 1], points[i + 1, 0], points[i + 1, 1]
        left, right, top, bottom = min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
        dx, dy = points[i + 2, 0], points[i + 2, 1]
        # The last chord ends at the first point and shares it with the first chord.
        for j in range(i + 3, n + 1 if i > 0 else n):
            cx, cy = dx, dy
            dx, dy = points[j % n, 0], points[j % n, 1]
            apart = max(cx, dx) < left or min(cx, dx) > right or max(cy, dy) < top or min(cy, dy) > bottom
            if not apart and _chords_cross(ax, ay, bx, by, cx, cy, dx, dy):
                return True
    return False


@compiled_in_place
def _chords_cross(
    ax: float, ay: float, bx: float, by: float, cx: float, cy: float, dx: float, dy: float
) -> bool:
    """Whether the chords a-b and c-d cross: the ends of each lie on different sides of the other."""
    c_side = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    d_side = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    a_side = (dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)
    b_side = (dx - cx) * (by - cy) - (dy - cy) * (bx - cx)
    return c_side * d_side < 0.0 and a_side * b_side < 0.0
