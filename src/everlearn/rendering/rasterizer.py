"""Images as they are stored: gray, colour channel by channel, or colour pixel by pixel."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
from everlearn.rendering.paths import DIVIDER, LEFT, N_CODES, PEN_UP, RIGHT, IntArray, Paths
from everlearn.rendering.scanline import WIDTH, fill, fill_pixels, sweep_gray, sweep_pixels, sweep_planes
from everlearn.rng import FloatArray
from everlearn.shapes.jit import compiled, inlined

DRAWN_SIZE = 0.45
NEAR, SPAN = 0.25, 0.5
MARGIN_COLUMNS, MARGIN_ROWS = 8, 3
GRID = 2.0**20


class Placements(NamedTuple):
    """Which path goes where: one row per image."""

    path: IntArray
    scale: FloatArray
    angle: FloatArray
    x: FloatArray
    y: FloatArray


class Box(NamedTuple):
    """The part of an image that a shape touches, widened to whole blocks of columns."""

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
    """Memory for the longest path in images of this size; gray needs one plane, colour two."""
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
    """Accumulate image n in the buffer; give the box it lies in."""
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
    """Put a path at its place in the image; give its bounds."""
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


Pixels = npt.NDArray[Any]


@compiled
def paint_gray(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """Images begin to end into out, flat; levels (n, 1, 3) holds background, shape and mark.

    The buffer holds levels rather than coverage, so that one sum serves both halves: an edge is worth the
    step between what lies on its two sides.
    """
    desk, weights, steps = new_desk(paths, size, 1), np.zeros(N_CODES, np.float32), np.empty(1, np.float32)
    tile = np.empty(size * whole_blocks(size), out.dtype)
    for n in range(begin, end):
        background, shape, mark = levels[n, 0, 0], levels[n, 0, 1], levels[n, 0, 2]
        weights[LEFT], weights[RIGHT], weights[DIVIDER] = shape - background, mark - background, mark - shape
        fill(out, n * size * size, size * size, background)
        box = trace(paths, where, n, size, weights, False, desk)
        first, fits = (n * size + box.top) * size + box.left, box.width <= size
        stride, blocks = box.width + MARGIN_COLUMNS, box.width // WIDTH
        steps[0] = background
        if fits:
            sweep_gray(desk.buffer, 0, stride, out, first, size, 0, blocks, box.height, steps)
        else:
            sweep_gray(desk.buffer, 0, stride, tile, 0, box.width, 0, blocks, box.height, steps)
            _copy(tile, 0, box.width, out, first, size, box.height)
        wipe(desk, box, 1)


@compiled
def paint_planes(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """As paint_gray, with red, green and blue one after another; levels is (n, 3, 3)."""
    desk, weights, steps = new_desk(paths, size, 2), _coverage_weights(), np.empty((3, 3), np.float32)
    area, tile_area = size * size, size * whole_blocks(size)
    tile = np.empty(3 * tile_area, out.dtype)
    for n in range(begin, end):
        _step(levels, n, steps)
        for c in range(3):
            fill(out, (3 * n + c) * area, area, levels[n, c, 0])
        box = trace(paths, where, n, size, weights, True, desk)
        first, fits = (3 * n * size + box.top) * size + box.left, box.width <= size
        target, start, pitch, channel = (out, first, size, area) if fits else (tile, 0, box.width, tile_area)
        stride, blocks = box.width + MARGIN_COLUMNS, box.width // WIDTH
        sweep_planes(
            desk.buffer, desk.plane, stride, target, start, pitch, channel, blocks, box.height, steps
        )
        if not fits:
            for c in range(3):
                _copy(tile, c * tile_area, box.width, out, first + c * area, size, box.height)
        wipe(desk, box, 2)


@compiled
def paint_pixels(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """As paint_planes, with red, green and blue of each pixel together."""
    desk, weights, steps = new_desk(paths, size, 2), _coverage_weights(), np.empty((3, 3), np.float32)
    tile = np.empty(3 * size * whole_blocks(size), out.dtype)
    for n in range(begin, end):
        _step(levels, n, steps)
        fill_pixels(out, 3 * n * size * size, size * size, levels[n, 0, 0], levels[n, 1, 0], levels[n, 2, 0])
        box = trace(paths, where, n, size, weights, True, desk)
        first, fits = 3 * ((n * size + box.top) * size + box.left), box.width <= size
        target, start, pitch = (out, first, 3 * size) if fits else (tile, 0, 3 * box.width)
        stride, blocks = box.width + MARGIN_COLUMNS, box.width // WIDTH
        sweep_pixels(desk.buffer, desk.plane, stride, target, start, pitch, 0, blocks, box.height, steps)
        if not fits:
            _copy(tile, 0, 3 * box.width, out, first, 3 * size, box.height)
        wipe(desk, box, 2)


@compiled
def _coverage_weights() -> Float32Array:
    weights = np.ones(N_CODES, np.float32)
    weights[PEN_UP] = F(0)
    return weights


@compiled
def _step(levels: Float32Array, n: int, steps: Float32Array) -> None:
    """For each channel the background, and how far shape and mark differ from it."""
    for c in range(3):
        background = levels[n, c, 0]
        steps[c, 0], steps[c, 1], steps[c, 2] = (
            background,
            levels[n, c, 1] - background,
            levels[n, c, 2] - background,
        )


@compiled
def _copy(
    tile: Pixels, start: int, tile_pitch: int, out: Pixels, first: int, pitch: int, height: int
) -> None:
    """The part of a tile that lies within the image; only images narrower than whole blocks need it."""
    for row in range(U(height)):
        for column in range(U(pitch)):
            out[U(first) + row * U(pitch) + column] = tile[U(start) + row * U(tile_pitch) + column]
