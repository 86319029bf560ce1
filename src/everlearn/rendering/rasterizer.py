"""The loop over images: placement, rasterization, and output as gray, planar or interleaved pixels."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.rendering.edges import I32, Edges, F, U, accumulate, add_clipped_edge, add_edge, new_edges
from everlearn.rendering.paths import DIVIDER, LEFT, MOVE, N_CODES, RIGHT, Float32Array, Paths
from everlearn.rendering.scanline import (
    N_LANES,
    fill,
    fill_interleaved,
    scan_gray,
    scan_interleaved,
    scan_planar,
)
from everlearn.rng import FloatArray, IntArray
from everlearn.shapes.jit import compiled_in_place

SHAPE_SIZE = 0.45
"""Bounding box of a shape at scale 1, relative to the image."""
ORIGIN, SPAN = 0.25, 0.5
"""Place of position 0, and its distance from position 1, relative to the image."""
MARGIN_COLUMNS, MARGIN_ROWS = 8, 3
GRID = 2.0**20

Pixels = npt.NDArray[Any]


class Placements(NamedTuple):
    """The path and the pose of each image."""

    path: IntArray
    scale: FloatArray
    angle: FloatArray
    x: FloatArray
    y: FloatArray


class Box(NamedTuple):
    """The part of an image that a shape covers, widened to a multiple of N_LANES columns."""

    left: int
    top: int
    width: int
    height: int


class RasterBuffers(NamedTuple):
    """Buffers of one thread."""

    points: Float32Array
    edges: Edges
    cells: Float32Array
    plane: int
    weights: Float32Array
    deltas: Float32Array


def new_buffers(paths: Paths, size: int, n_planes: int) -> RasterBuffers:
    """Buffers for the longest path in images of this size; gray needs one plane, colour two."""
    longest = int(np.diff(paths.first).max(initial=1))
    plane = (size + MARGIN_ROWS + 1) * (pad_to_lanes(size) + MARGIN_COLUMNS)
    edges, cells = new_edges(2 * longest + 2), np.zeros(n_planes * plane, np.float32)
    weights, deltas = np.zeros(N_CODES, np.float32), np.zeros((3, 3), np.float32)
    return RasterBuffers(np.empty((longest, 2), np.float32), edges, cells, plane, weights, deltas)


@compiled_in_place
def pad_to_lanes(n: int) -> int:
    """The next multiple of N_LANES."""
    return (n + N_LANES - 1) // N_LANES * N_LANES


@compiled_in_place
def clear(work: RasterBuffers, box: Box, n_planes: int) -> None:
    """Clear the cells that a scan leaves: those right of its columns and below its rows."""
    stride = box.width + MARGIN_COLUMNS
    for plane in range(n_planes):
        start = U(plane * work.plane)
        for row in range(U(box.height)):
            edge = start + row * U(stride) + U(box.width)
            work.cells[edge], work.cells[edge + U(1)] = F(0), F(0)
        for cell in range(start + U(box.height * stride), start + U((box.height + MARGIN_ROWS) * stride)):
            work.cells[cell] = F(0)


@compiled_in_place
def rasterize(
    paths: Paths,
    poses: Placements,
    n: int,
    size: int,
    weights: Float32Array,
    in_planes: bool,
    work: RasterBuffers,
) -> Box:
    """Accumulate image n in the buffer; returns its bounding box."""
    begin, end = paths.first[poses.path[n]], paths.first[poses.path[n] + 1]
    x0, y0, x1, y1 = _project(paths, begin, end, poses, n, size, work.points)
    box = _box(x0, y0, x1, y1, size)
    if box.height > 0:
        inside = bool(x0 >= F(0) and y0 >= F(0) and x1 <= F(size) and y1 <= F(size))
        front, back = _add_edges(paths, begin, end, box, size, inside, weights, in_planes, work)
        width, height = F(min(box.width, size - box.left)), F(box.height)
        accumulate(work.edges, front, back, work.cells, box.width + MARGIN_COLUMNS, width, height)
    return box


@compiled_in_place
def _project(
    paths: Paths, begin: int, end: int, poses: Placements, n: int, size: int, points: Float32Array
) -> tuple[F, F, F, F]:
    """Transform a path to image coordinates; returns its bounds."""
    # Rounded to a grid of 2**-20, which hides the last bits, in which math libraries differ.
    cos = math.floor(math.cos(poses.angle[n]) * GRID + 0.5) / GRID
    sin = math.floor(math.sin(poses.angle[n]) * GRID + 0.5) / GRID
    unit = SHAPE_SIZE * size * poses.scale[n]
    a, b = F(unit * cos), F(unit * sin)
    x_center, y_center = (F((ORIGIN + SPAN * poses.x[n]) * size), F((ORIGIN + SPAN * poses.y[n]) * size))
    x0 = y0 = F(np.inf)
    x1 = y1 = F(-np.inf)
    for k in range(U(end - begin)):
        u, v = paths.points[U(begin) + k, U(0)], paths.points[U(begin) + k, U(1)]
        x, y = a * u - b * v + x_center, b * u + a * v + y_center
        points[k, U(0)], points[k, U(1)] = x, y
        x0, x1 = min(x0, x), max(x1, x)
        y0, y1 = min(y0, y), max(y1, y)
    return x0, y0, x1, y1


@compiled_in_place
def _box(x0: F, y0: F, x1: F, y1: F, size: int) -> Box:
    if x1 <= F(0) or y1 <= F(0) or x0 >= F(size) or y0 >= F(size):
        return Box(0, 0, 0, 0)
    left, top = int(max(x0, F(0))), int(max(y0, F(0)))
    right, bottom = min(int(min(x1, F(size))) + 1, size), min(int(min(y1, F(size))) + 1, size)
    width = pad_to_lanes(right - left)
    return Box(max(min(left, size - width), 0), top, width, bottom - top)


@compiled_in_place
def _add_edges(
    paths: Paths, begin: int, end: int, box: Box, size: int, inside: bool, weights: Float32Array,
    in_planes: bool, work: RasterBuffers,
) -> tuple[U, U]:  # fmt: skip
    left, top = F(box.left), F(box.top)
    width, height = F(min(box.width, size - box.left)), F(box.height)
    front, back = U(0), U(len(work.edges.planes) - 1)
    points = work.points
    xa, ya = points[U(0), U(0)] - left, points[U(0), U(1)] - top
    for k in range(U(end - begin - 1)):
        xb, yb = points[k + U(1), U(0)] - left, points[k + U(1), U(1)] - top
        code = U(paths.codes[U(begin) + k])
        plane = I32(work.plane) if in_planes and (code == U(RIGHT) or code == U(DIVIDER)) else I32(0)
        if inside:
            front, back = add_edge(work.edges, front, back, xa, ya, xb, yb, weights[code], plane)
        else:
            front, back = add_clipped_edge(
                work.edges, front, back, xa, ya, xb, yb, weights[code], plane, width, height
            )
        xa, ya = xb, yb
    return front, back


def draw_gray(
    begin: int, end: int, paths: Paths, poses: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """Draw images begin to end into out, flat; levels (n, 1, 3) holds background, shape and mark."""
    work, tile = new_buffers(paths, size, 1), np.empty(size * pad_to_lanes(size), out.dtype)
    draw_gray_into(begin, end, paths, poses, size, levels, out, work, tile)


@compiled_in_place
def draw_gray_into(
    begin: int, end: int, paths: Paths, poses: Placements, size: int, levels: Float32Array, out: Pixels,
    work: RasterBuffers, tile: Pixels,
) -> None:  # fmt: skip
    """The compiled part of draw_gray.

    The buffer accumulates levels instead of coverage, so that one plane serves both halves: the weight of an
    edge is the difference of the levels on its two sides.
    """
    weights, deltas = work.weights, work.deltas
    for n in range(begin, end):
        background, shape, mark = levels[n, 0, 0], levels[n, 0, 1], levels[n, 0, 2]
        weights[LEFT], weights[RIGHT], weights[DIVIDER] = shape - background, mark - background, mark - shape
        fill(out, n * size * size, size * size, background)
        box = rasterize(paths, poses, n, size, weights, False, work)
        first, fits = (n * size + box.top) * size + box.left, box.width <= size
        stride, blocks = box.width + MARGIN_COLUMNS, box.width // N_LANES
        deltas[0, 0] = background
        if fits:
            scan_gray(work.cells, 0, stride, out, first, size, 0, blocks, box.height, deltas)
        else:
            scan_gray(work.cells, 0, stride, tile, 0, box.width, 0, blocks, box.height, deltas)
            _copy(tile, 0, box.width, out, first, size, box.height)
        clear(work, box, 1)


def draw_rgb(
    begin: int, end: int, paths: Paths, poses: Placements, size: int, levels: Float32Array, out: Pixels,
    interleaved: bool,
) -> None:  # fmt: skip
    """As draw_gray, in colour with interleaved or separate channels; levels is (n, 3, 3)."""
    work, tile = new_buffers(paths, size, 2), np.empty(3 * size * pad_to_lanes(size), out.dtype)
    draw_rgb_into(begin, end, paths, poses, size, levels, out, interleaved, work, tile)


@compiled_in_place
def draw_rgb_into(
    begin: int, end: int, paths: Paths, poses: Placements, size: int, levels: Float32Array, out: Pixels,
    interleaved: bool, work: RasterBuffers, tile: Pixels,
) -> None:  # fmt: skip
    """The compiled part of draw_rgb."""
    weights, deltas = work.weights, work.deltas
    weights[:], weights[MOVE] = F(1), F(0)
    area, tile_area = size * size, size * pad_to_lanes(size)
    n_planes, n_values = (1, 3) if interleaved else (3, 1)  # values per pixel in each plane
    for n in range(begin, end):
        for c in range(3):
            deltas[c, 0] = levels[n, c, 0]
            deltas[c, 1], deltas[c, 2] = levels[n, c, 1] - levels[n, c, 0], levels[n, c, 2] - levels[n, c, 0]
        if interleaved:
            fill_interleaved(out, 3 * n * area, area, levels[n, 0, 0], levels[n, 1, 0], levels[n, 2, 0])
        else:
            for c in range(3):
                fill(out, (3 * n + c) * area, area, levels[n, c, 0])
        box = rasterize(paths, poses, n, size, weights, True, work)
        first, fits = 3 * n * area + n_values * (box.top * size + box.left), box.width <= size
        target, start, width, channel = (out, first, size, area) if fits else (tile, 0, box.width, tile_area)
        pitch, stride, blocks = n_values * width, box.width + MARGIN_COLUMNS, box.width // N_LANES
        cells, plane, height = work.cells, work.plane, box.height
        if interleaved:
            scan_interleaved(cells, plane, stride, target, start, pitch, 0, blocks, height, deltas)
        else:
            scan_planar(cells, plane, stride, target, start, pitch, channel, blocks, height, deltas)
        if not fits:
            for c in range(n_planes):
                _copy(tile, c * tile_area, pitch, out, first + c * area, n_values * size, height)
        clear(work, box, 2)


@compiled_in_place
def _copy(
    tile: Pixels, start: int, tile_pitch: int, out: Pixels, first: int, pitch: int, height: int
) -> None:
    """Copy the part of a tile within the image; only needed if N_LANES does not divide the image size."""
    for row in range(U(height)):
        for column in range(U(pitch)):
            out[U(first) + row * U(pitch) + column] = tile[U(start) + row * U(tile_pitch) + column]
