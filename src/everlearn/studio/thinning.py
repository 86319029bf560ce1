"""Curves of any length, in as many points as the eye can tell apart."""

import bisect
from collections.abc import Sequence

import numpy as np

Point = tuple[float, float]

COLUMNS = 1000
"""Columns of pixels that a curve is drawn in; more do not fit on a screen beside one another."""


def thinned(points: Sequence[Point], columns: int = COLUMNS) -> list[Point]:
    """The lowest and the highest point of each column, in order, with both ends: no peak is lost.

    Args:
        points: a curve, from left to right.
        columns: equal parts of its length; a curve of at most two points for each is left as it is.

    Example:
        >>> curve = [(x, 9.0 if x == 42 else 0.0) for x in range(100)]
        >>> thinned(curve, columns=2)
        [(0, 0.0), (42, 9.0), (50, 0.0), (99, 0.0)]
    """
    if len(points) <= 2 * columns:
        return list(points)
    x, y = np.array(points, np.float64).T
    length = x[-1] - x[0] or 1.0
    column = np.minimum((x - x[0]) / length * columns, columns - 1).astype(np.int64)
    by_height = np.lexsort((y, column))
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    lowest, highest = by_height[starts], by_height[np.append(starts[1:], len(x)) - 1]
    kept = {0, len(points) - 1, *lowest.tolist(), *highest.tolist()}
    return [points[index] for index in sorted(kept)]


def within(points: Sequence[Point], low: float, high: float) -> list[Point]:
    """The points of a part of a curve, with one more on each side, so that its lines go on to the edge.

    Example:
        >>> within([(1, 5.0), (2, 6.0), (3, 7.0), (4, 8.0)], 2.5, 3.5)
        [(2, 6.0), (3, 7.0), (4, 8.0)]
    """
    moments = [x for x, _ in points]
    first, end = bisect.bisect_left(moments, low), bisect.bisect_right(moments, high)
    return list(points[max(0, first - 1) : end + 1])
