import numpy as np
import pytest

from everlearn.shapes.spline import is_simple, join

STAR = [(2, 0), (0.3, 0.4), (0, 2), (-0.4, 0.2), (-2, -0.1), (0.1, -1.5)]
BOW_TIE = [(1, 1), (-1, -1), (-1, 1), (1, -1)]
# Not star-shaped: it turns back on itself without ever crossing.
HOOK = [(2, -1), (2, 1), (-2, 1), (-2, -1), (-1.5, -1), (-1.5, 0.5), (1.5, 0.5), (1.5, -1)]
# The last chord crosses the second one, so the closing chord must be looked at too.
CLOSING = [(0, 0), (2, 0), (2, 2), (1, -1)]


@pytest.mark.parametrize(
    ("vertices", "order", "simple"),
    [
        (STAR, 1, True),
        (BOW_TIE, 1, False),
        (BOW_TIE, 3, False),
        (HOOK, 1, True),
        (HOOK, 3, True),
        (CLOSING, 1, False),
    ],
)
def test_is_simple(vertices: list[tuple[float, float]], order: int, simple: bool) -> None:
    n = len(vertices)
    cubics = np.empty((n, 2, 4))
    join(np.array(vertices, float), n, order, np.empty(n), np.empty((3, n)), cubics)
    assert is_simple(cubics, n, order) == simple
