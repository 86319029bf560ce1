"""Does an outline cross itself?"""

import numpy as np

from everlearn.shapes.compiled import compiled
from everlearn.shapes.spline import FloatArray, at

STEPS = 12


@compiled
def is_simple(cubics: FloatArray, n: int, order: int) -> bool:
    """Whether a closed spline around the origin never crosses itself, judged on 12 chords per curved piece.

    Most outlines are star-shaped, which is quickly seen; only the others are compared chord by chord.
    """
    steps = STEPS if order > 1 else 1
    if _is_star(cubics, n, steps):
        return True
    chain = np.empty((n * steps, 2))
    for i in range(n):
        for step in range(steps):
            chain[i * steps + step, 0] = at(cubics, i, 0, step / steps)
            chain[i * steps + step, 1] = at(cubics, i, 1, step / steps)
    return not _crosses_itself(chain)


@compiled
def _is_star(cubics: FloatArray, n: int, steps: int) -> bool:
    """Whether the curve runs around the origin counter-clockwise without ever turning back."""
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


@compiled
def _crosses_itself(chain: FloatArray) -> bool:
    n = len(chain)
    for i in range(n - 2):
        ax, ay, bx, by = chain[i, 0], chain[i, 1], chain[i + 1, 0], chain[i + 1, 1]
        left, right, top, bottom = min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
        dx, dy = chain[i + 2, 0], chain[i + 2, 1]
        # The last chord leads back to the first point and is a neighbour of the first chord.
        for j in range(i + 3, n + 1 if i > 0 else n):
            cx, cy = dx, dy
            dx, dy = chain[j % n, 0], chain[j % n, 1]
            apart = max(cx, dx) < left or min(cx, dx) > right or max(cy, dy) < top or min(cy, dy) > bottom
            if not apart and _cross(ax, ay, bx, by, cx, cy, dx, dy):
                return True
    return False


@compiled
def _cross(ax: float, ay: float, bx: float, by: float, cx: float, cy: float, dx: float, dy: float) -> bool:
    """Whether the chords a-b and c-d cross: each has its ends on different sides of the other."""
    c_side = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    d_side = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    a_side = (dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)
    b_side = (dx - cx) * (by - cy) - (dy - cy) * (bx - cx)
    return c_side * d_side < 0.0 and a_side * b_side < 0.0
