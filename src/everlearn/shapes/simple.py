"""Does an outline cross itself?"""

import numpy as np

from everlearn.shapes.compiled import compiled
from everlearn.shapes.spline import FloatArray, at, speed

STEPS = 12


@compiled
def is_simple(cubics: FloatArray, n: int) -> bool:
    """Whether a closed curve around the origin never crosses itself, judged on 12 chords per piece.

    Most outlines are star-shaped, which is quickly seen; only the others are compared chord by chord.
    """
    if _is_star(cubics, n):
        return True
    chain = np.empty((n * STEPS, 2))
    for i in range(n):
        for step in range(STEPS):
            chain[i * STEPS + step, 0] = at(cubics, i, 0, step / STEPS)
            chain[i * STEPS + step, 1] = at(cubics, i, 1, step / STEPS)
    return not _crosses_itself(chain)


@compiled
def _is_star(cubics: FloatArray, n: int) -> bool:
    """Whether the curve runs around the origin counter-clockwise without ever turning back."""
    for i in range(n):
        for step in range(STEPS):
            s = step / STEPS
            x, y = at(cubics, i, 0, s), at(cubics, i, 1, s)
            if x * speed(cubics, i, 1, s) - y * speed(cubics, i, 0, s) <= 0.0:
                return False
    return True


@compiled
def _crosses_itself(chain: FloatArray) -> bool:
    n = len(chain)
    for i in range(n):
        # The last chord is a neighbour of the first.
        for j in range(i + 2, n if i > 0 else n - 1):
            if _cross(chain, i, i + 1 if i < n - 1 else 0, j, j + 1 if j < n - 1 else 0):
                return True
    return False


@compiled
def _cross(chain: FloatArray, a: int, b: int, c: int, d: int) -> bool:
    """Whether the chords a-b and c-d cross."""
    for axis in range(2):
        p, q, r, s = chain[a, axis], chain[b, axis], chain[c, axis], chain[d, axis]
        if max(p, q) < min(r, s) or max(r, s) < min(p, q):
            return False
    return _side(chain, a, b, c) * _side(chain, a, b, d) < 0.0 and (
        _side(chain, c, d, a) * _side(chain, c, d, b) < 0.0
    )


@compiled
def _side(chain: FloatArray, a: int, b: int, p: int) -> float:
    """Positive when p lies to the left of the line from a to b."""
    return (chain[b, 0] - chain[a, 0]) * (chain[p, 1] - chain[a, 1]) - (
        (chain[b, 1] - chain[a, 1]) * (chain[p, 0] - chain[a, 0])
    )
