"""Pictures in the three layouts: gray, colour channel by channel, colour pixel by pixel."""

from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.rendering.edges import F, Float32Array, U
from everlearn.rendering.paths import N_CODES, Paths
from everlearn.rendering.raster import MARGIN_COLUMNS, Box, Desk, Placements, new_desk, trace, whole_blocks, wipe
from everlearn.rendering.sweep import WIDTH, sweep_gray, sweep_pixels, sweep_planes
from everlearn.shapes.compiled import compiled

Pixels = npt.NDArray[Any]


@compiled
def paint_gray(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """Pictures begin to end into out, flat; levels (n, 3) holds background, shape and mark."""
    desk, weights = new_desk(paths, size), np.zeros(N_CODES, np.float32)
    tile = np.empty(size * whole_blocks(size), out.dtype)
    for n in range(begin, end):
        background, shape, mark = levels[n, 0], levels[n, 1], levels[n, 2]
        _fill(out, n * size * size, size * size, background)
        # The buffer holds levels, so that one sum serves both halves: an edge is worth the step it makes.
        weights[1], weights[2], weights[3] = shape - background, mark - background, mark - shape
        box = trace(paths, where, n, size, weights, False, desk)
        if box.height == 0:
            continue
        stride, blocks, first = box.width + MARGIN_COLUMNS, box.width // WIDTH, n * size * size + box.top * size
        if box.width <= size:
            sweep_gray(
                desk.buffer, desk.plane, stride, out, first + box.left, size, 0, blocks, box.height, levels[n]
            )
        else:
            sweep_gray(desk.buffer, desk.plane, stride, tile, 0, box.width, 0, blocks, box.height, levels[n])
            _copy(tile, 0, box.width, out, first, size, size, box.height)
        wipe(desk, box, 1)


@compiled
def paint_planes(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """As paint_gray, red, green and blue one after another; levels is (n, 9)."""
    desk, weights = new_desk(paths, size), np.ones(N_CODES, np.float32)
    weights[0] = F(0)
    area, wide = size * size, whole_blocks(size)
    tile, steps = np.empty(3 * size * wide, out.dtype), np.empty(9, np.float32)
    for n in range(begin, end):
        _steps(levels[n], steps)
        for c in range(3):
            _fill(out, (3 * n + c) * area, area, levels[n, 3 * c])
        box = trace(paths, where, n, size, weights, True, desk)
        if box.height == 0:
            continue
        stride, blocks, first = box.width + MARGIN_COLUMNS, box.width // WIDTH, 3 * n * area + box.top * size
        if box.width <= size:
            sweep_planes(
                desk.buffer, desk.plane, stride, out, first + box.left, size, area, blocks, box.height, steps
            )
        else:
            sweep_planes(
                desk.buffer, desk.plane, stride, tile, 0, box.width, size * wide, blocks, box.height, steps
            )
            for c in range(3):
                _copy(tile, c * size * wide, box.width, out, first + c * area, size, size, box.height)
        wipe(desk, box, 2)


@compiled
def paint_pixels(
    begin: int, end: int, paths: Paths, where: Placements, size: int, levels: Float32Array, out: Pixels
) -> None:
    """As paint_planes, red, green and blue of each pixel together."""
    desk, weights = new_desk(paths, size), np.ones(N_CODES, np.float32)
    weights[0] = F(0)
    area, wide = size * size, whole_blocks(size)
    tile, steps = np.empty(3 * size * wide, out.dtype), np.empty(9, np.float32)
    for n in range(begin, end):
        _steps(levels[n], steps)
        _fill_pixels(out, 3 * n * area, area, levels[n, 0], levels[n, 3], levels[n, 6])
        box = trace(paths, where, n, size, weights, True, desk)
        if box.height == 0:
            continue
        stride, blocks, first = box.width + MARGIN_COLUMNS, box.width // WIDTH, 3 * (n * area + box.top * size)
        if box.width <= size:
            sweep_pixels(
                desk.buffer, desk.plane, stride, out, first + 3 * box.left, 3 * size, 0, blocks, box.height,
                steps,
            )  # fmt: skip
        else:
            sweep_pixels(
                desk.buffer, desk.plane, stride, tile, 0, 3 * box.width, 0, blocks, box.height, steps
            )
            _copy(tile, 0, 3 * box.width, out, first, 3 * size, 3 * size, box.height)
        wipe(desk, box, 2)


@compiled
def _steps(levels: Float32Array, steps: Float32Array) -> None:
    for c in range(0, 9, 3):
        steps[c] = levels[c]
        steps[c + 1] = levels[c + 1] - levels[c]
        steps[c + 2] = levels[c + 2] - levels[c]


@compiled
def _fill(out: Pixels, first: int, n: int, level: F) -> None:
    value = _stored(out, level)
    for i in range(U(first), U(first + n)):
        out[i] = value


@compiled
def _fill_pixels(out: Pixels, first: int, n: int, red: F, green: F, blue: F) -> None:
    r, g, b = _stored(out, red), _stored(out, green), _stored(out, blue)
    for i in range(U(n)):
        pixel = U(first) + U(3) * i
        out[pixel], out[pixel + U(1)], out[pixel + U(2)] = r, g, b


@compiled
def _stored(out: Pixels, level: F) -> Any:
    return out.dtype.type(level + F(0.5)) if out.itemsize == 1 else out.dtype.type(level)


@compiled
def _copy(tile: Pixels, start: int, tile_pitch: int, out: Pixels, first: int, pitch: int, width: int, height: int) -> None:
    for row in range(U(height)):
        for column in range(U(width)):
            out[U(first) + row * U(pitch) + column] = tile[U(start) + row * U(tile_pitch) + column]
