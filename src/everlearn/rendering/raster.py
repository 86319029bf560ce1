"""The loop over pictures: project a path, collect its edges, sweep them into pixels."""

import math
from typing import NamedTuple

import numpy as np

from everlearn.rendering.edges import (
    I32,
    Edges,
    F,
    Float32Array,
    U,
    accumulate,
    add_clipped_edge,
    add_edge,
    new_edges,
)
from everlearn.rendering.paths import DIVIDER, RIGHT, IntArray, Paths
from everlearn.rendering.sweep import WIDTH
from everlearn.shapes.compiled import compiled, inlined
from everlearn.shapes.spline import FloatArray

DRAWN_SIZE = 0.45
NEAR, SPAN = 0.25, 0.5
MARGIN_COLUMNS, MARGIN_ROWS = 8, 3
GRID = 2.0**20


class Placements(NamedTuple):
    """Which path goes where: one row per picture."""

    path: IntArray
    scale: FloatArray
    angle: FloatArray
    x: FloatArray
    y: FloatArray


class Box(NamedTuple):
    """The part of a picture that a shape touches, widened to whole blocks of columns."""

    left: int
    top: int
    width: int
    height: int


class Desk(NamedTuple):
    """The working memory of one thread."""

    points: Float32Array
    edges: Edges
    buffer: Float32Array
    plane: int


@compiled
def new_desk(paths: Paths, size: int, n_planes: int) -> Desk:
    """Memory for the longest path in pictures of this size; gray needs one plane, colour two."""
    longest = 1
    for k in range(len(paths.first) - 1):
        longest = max(longest, paths.first[k + 1] - paths.first[k])
    plane = (size + MARGIN_ROWS + 1) * (whole_blocks(size) + MARGIN_COLUMNS)
    return Desk(
        np.empty((longest, 2), np.float32),
        new_edges(2 * longest + 2),
        np.zeros(n_planes * plane, np.float32),
        plane,
    )


@compiled
def whole_blocks(n: int) -> int:
    """The next multiple of what is swept at once."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


@compiled
def wipe(desk: Desk, box: Box, n_planes: int) -> None:
    """Empty what a sweep leaves behind: the cells right of its columns and below its rows."""
    stride = box.width + MARGIN_COLUMNS
    for plane in range(n_planes):
        start = U(plane * desk.plane)
        for row in range(U(box.height)):
            edge = start + row * U(stride) + U(box.width)
            desk.buffer[edge], desk.buffer[edge + U(1)] = F(0), F(0)
        for cell in range(start + U(box.height * stride), start + U((box.height + MARGIN_ROWS) * stride)):
            desk.buffer[cell] = F(0)


@compiled
def _cos_sin(angle: float) -> tuple[float, float]:
    """On a grid of 2**-20, where the last bit, which differs between machines, does not show."""
    return math.floor(math.cos(angle) * GRID + 0.5) / GRID, math.floor(math.sin(angle) * GRID + 0.5) / GRID


@inlined
def trace(
    paths: Paths, where: Placements, n: int, size: int, weights: Float32Array, in_planes: bool, desk: Desk
) -> Box:
    """Accumulate picture n in the buffer; give the box it lies in."""
    begin, end = paths.first[where.path[n]], paths.first[where.path[n] + 1]
    x0, y0, x1, y1 = _project(paths, begin, end, where, n, size, desk.points)
    box = _box(x0, y0, x1, y1, size)
    if box.height > 0:
        inside = bool(x0 >= F(0) and y0 >= F(0) and x1 <= F(size) and y1 <= F(size))
        front, back = _add_path(paths, begin, end, box, size, inside, weights, in_planes, desk)
        width, height = F(min(box.width, size - box.left)), F(box.height)
        accumulate(desk.edges, front, back, desk.buffer, box.width + MARGIN_COLUMNS, width, height)
    return box


@compiled
def _project(
    paths: Paths, begin: int, end: int, where: Placements, n: int, size: int, points: Float32Array
) -> tuple[F, F, F, F]:
    """Put a path at its place in the picture; give its bounds."""
    cos, sin = _cos_sin(where.angle[n])
    unit = DRAWN_SIZE * size * where.scale[n]
    a, b = F(unit * cos), F(unit * sin)
    x_middle, y_middle = F((NEAR + SPAN * where.x[n]) * size), F((NEAR + SPAN * where.y[n]) * size)
    x0 = y0 = F(np.inf)
    x1 = y1 = F(-np.inf)
    for k in range(U(end - begin)):
        u, v = paths.points[U(begin) + k, U(0)], paths.points[U(begin) + k, U(1)]
        x, y = a * u - b * v + x_middle, b * u + a * v + y_middle
        points[k, U(0)], points[k, U(1)] = x, y
        x0, x1 = min(x0, x), max(x1, x)
        y0, y1 = min(y0, y), max(y1, y)
    return x0, y0, x1, y1


@compiled
def _box(x0: F, y0: F, x1: F, y1: F, size: int) -> Box:
    if x1 <= F(0) or y1 <= F(0) or x0 >= F(size) or y0 >= F(size):
        return Box(0, 0, 0, 0)
    left, top = int(max(x0, F(0))), int(max(y0, F(0)))
    right, bottom = min(int(min(x1, F(size))) + 1, size), min(int(min(y1, F(size))) + 1, size)
    width = whole_blocks(right - left)
    return Box(max(min(left, size - width), 0), top, width, bottom - top)


@compiled
def _add_path(
    paths: Paths, begin: int, end: int, box: Box, size: int, inside: bool, weights: Float32Array,
    in_planes: bool, desk: Desk,
) -> tuple[U, U]:  # fmt: skip
    left, top = F(box.left), F(box.top)
    width, height = F(min(box.width, size - box.left)), F(box.height)
    front, back = U(0), U(len(desk.edges.planes) - 1)
    points = desk.points
    xa, ya = points[U(0), U(0)] - left, points[U(0), U(1)] - top
    for k in range(U(end - begin - 1)):
        xb, yb = points[k + U(1), U(0)] - left, points[k + U(1), U(1)] - top
        code = U(paths.codes[U(begin) + k])
        plane = I32(desk.plane) if in_planes and (code == U(RIGHT) or code == U(DIVIDER)) else I32(0)
        if inside:
            front, back = add_edge(desk.edges, front, back, xa, ya, xb, yb, weights[code], plane)
        else:
            front, back = add_clipped_edge(
                desk.edges, front, back, xa, ya, xb, yb, weights[code], plane, width, height
            )
        xa, ya = xb, yb
    return front, back
