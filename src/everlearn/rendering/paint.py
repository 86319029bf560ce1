"""Pictures as they are stored: gray, colour channel by channel, or colour pixel by pixel."""

from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.rendering.edges import F, Float32Array, U
from everlearn.rendering.paths import DIVIDER, LEFT, N_CODES, PEN_UP, RIGHT, Paths
from everlearn.rendering.raster import MARGIN_COLUMNS, Placements, new_desk, trace, whole_blocks, wipe
from everlearn.rendering.sweep import WIDTH, fill, fill_pixels, sweep_gray, sweep_pixels, sweep_planes
from everlearn.shapes.compiled import compiled

Pixels = npt.NDArray[Any]


@compiled
def paint_gray(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """Pictures begin to end into out, flat; levels (n, 1, 3) holds background, shape and mark.

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
    """The part of a tile that lies within the picture; only pictures narrower than whole blocks need it."""
    for row in range(U(height)):
        for column in range(U(pitch)):
            out[U(first) + row * U(pitch) + column] = tile[U(start) + row * U(tile_pitch) + column]
