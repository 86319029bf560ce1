"""Edges of one image: clipping and accumulation of signed area coverage.

Mispredicted branches are the main cost. Edges are therefore sorted without branches into shallow ones, at the
front of the list, and steep ones, at its back. An edge is split into strips: its parts within one column
(shallow) or one row (steep). Each strip adds signed area to a few cells of the buffer.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types

from everlearn.rendering.scanline import (
    INT32,
    Value,
    Vector,
    data_pointer,
    intrinsic_function,
    pointer_offset,
    splat,
)
from everlearn.shapes.jit import ZERO, compiled_in_place

N_LANES = 8
CAPACITY = 4096
"""Strips that are computed before they are added to the buffer."""

Float32Array = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
F = np.float32
I32 = np.int32
U = np.uint64  # numba checks signed indices for negative values, which prevents vectorization

# Columns of the list of edges. "Along" is x for shallow edges and y for steep ones.
START, END, ACROSS, GRADIENT, WEIGHT, INVERSE = range(6)
N_COLUMNS = 6

_MIN_GRADIENT = F(1e-12)
_MAX_INVERSE = F(1e4)
_CELLS = U(CAPACITY)
_ONE = U(1)
_F, _I, _L = types.float32, types.int32, types.int64


Lanes = dict[str, Vector]
Strips = tuple[Vector, tuple[Vector, ...]]
"""Cells, and areas of each cell and of some of its neighbours."""


def _strips(compute: Callable[[Lanes], Strips]) -> Callable[..., None]:
    """A function that stores the strips of an edge in the columns (or rows) from `first` on.

    The edge runs from `start`, where it is at `across`, to `end` with |gradient| <= 1; `limit` is the size of
    the image across.
    """
    names = ("first", "plane", "start", "end", "across", "gradient", "weight", "inverse", "stride", "limit")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        cells, areas, position, *scalars = arguments
        lanes = [splat(builder, scalar, N_LANES) for scalar in scalars]
        indices = ir.Constant(ir.VectorType(INT32, N_LANES), list(range(N_LANES)))
        lanes[0] += Vector(builder, indices)
        cell, parts = compute(dict(zip(names, lanes, strict=True)))
        first_cell = data_pointer(context, builder, signature.args[0], cells)
        cell.store(pointer_offset(builder, first_cell, position))
        first = data_pointer(context, builder, signature.args[1], areas)
        for part, vector in enumerate(parts):
            vector.store(pointer_offset(builder, first, part * CAPACITY, position))
        return context.get_dummy_value()

    @intrinsic_function
    def strips(
        typing: Any, cells: Any, areas: Any, position: Any, first: Any, plane: Any, start: Any, end: Any,
        across: Any, gradient: Any, weight: Any, inverse: Any, stride: Any, limit: Any,
    ) -> Any:  # fmt: skip
        return types.void(cells, areas, _L, _I, _I, _F, _F, _F, _F, _F, _F, _I, _F), generate

    return strips


def _shallow(lanes: Lanes) -> Strips:
    """Areas of the cell, the one below it and the one below that.

    `inverse` is weight / (2 |gradient|), the weighted area of a triangle of height 1 in the lower row.
    """
    columns, x0, y0, gradient = lanes["first"], lanes["start"], lanes["across"], lanes["gradient"]
    start = x0.maximum(columns.to_float())
    end = lanes["end"].minimum(columns.to_float() + 1.0)
    y_start = (y0 + gradient * (start - x0)).clamp(lanes["limit"])
    y_end = (y0 + gradient * (end - x0)).clamp(lanes["limit"])
    top, bottom = y_start.minimum(y_end), y_start.maximum(y_end)
    row = top.to_int()
    overhang = (bottom - row.to_float() - 1.0).maximum(0.0)
    lower = lanes["inverse"] * (overhang * overhang)
    total = lanes["weight"] * (end - start)
    missing = total * ((top + bottom) * 0.5 - row.to_float())
    cell = row * lanes["stride"] + (lanes["plane"] + columns)
    return cell, (total - missing + lower, missing - lower - lower, lower)


def _steep(lanes: Lanes) -> Strips:
    """Areas of the cell, the one to the right, and the two below them; `inverse` is 1 / gradient, bounded."""
    rows, y0, x0, gradient = lanes["first"], lanes["start"], lanes["across"], lanes["gradient"]
    start = y0.maximum(rows.to_float())
    end = lanes["end"].minimum(rows.to_float() + 1.0)
    x_start = (x0 + gradient * (start - y0)).clamp(lanes["limit"])
    x_end = (x0 + gradient * (end - y0)).clamp(lanes["limit"])
    left, right = x_start.minimum(x_end), x_start.maximum(x_end)
    column = left.to_int()
    overhang = (right - column.to_float() - 1.0).maximum(0.0)
    half_height = (end - start) * 0.5
    total = lanes["weight"] * (x_end - x_start)
    middle = (start + end) * 0.5 - rows.to_float()
    # The part in the right column is at the end of the strip where x is largest.
    sign = lanes["inverse"].sign()
    reach = (overhang * (lanes["inverse"] * sign) * 0.5).minimum(half_height)
    right_total = lanes["weight"] * sign * overhang
    right_missing = right_total * (middle + sign * (half_height - reach))
    missing = total * middle - right_missing
    cell = rows * lanes["stride"] + (lanes["plane"] + column)
    return cell, (total - right_total - missing, right_total - right_missing, missing, right_missing)


shallow_strips, steep_strips = _strips(_shallow), _strips(_steep)


class Edges(NamedTuple):
    """Buffers for the edges of one image and for their strips."""

    values: Float32Array
    planes: Int32Array
    cells: Int32Array
    areas: Float32Array


def new_edges(n: int) -> Edges:
    """Buffers for n edges."""
    return Edges(
        np.empty((n, N_COLUMNS), np.float32),
        np.empty(n, np.int32),
        np.empty(CAPACITY, np.int32),
        np.empty(4 * CAPACITY, np.float32),
    )


@compiled_in_place
def add_edge(
    edges: Edges, front: U, back: U, xa: F, ya: F, xb: F, yb: F, weight: F, plane: I32
) -> tuple[U, U]:
    """Append the edge from a to b; returns the new ends of the two parts of the list."""
    dx, dy = xb - xa, yb - ya
    shallow = abs(dy) <= abs(dx)
    along, across = (dx, dy) if shallow else (dy, dx)
    backwards = along < F(0)
    slot = front if shallow else back
    start, end = (xa, xb) if shallow else (ya, yb)
    across_start, across_end = (ya, yb) if shallow else (xa, xb)
    gradient = across / (along if along != F(0) else F(1))
    signed = -weight if backwards else weight
    values = edges.values
    values[slot, U(START)] = end if backwards else start
    values[slot, U(END)] = start if backwards else end
    values[slot, U(ACROSS)] = across_end if backwards else across_start
    values[slot, U(GRADIENT)] = gradient
    values[slot, U(WEIGHT)] = signed
    inverse = along / (across if across != F(0) else F(1))
    corner = F(0.5) * signed * min(abs(inverse), _MAX_INVERSE)
    values[slot, U(INVERSE)] = corner if shallow else inverse
    edges.planes[slot] = plane
    counts = (weight != F(0)) & (dx != F(0))  # a vertical edge has no area below it
    return front + U(counts & shallow), back - U(counts & (not shallow))


@compiled_in_place
def add_clipped_edge(
    edges: Edges, front: U, back: U, xa: F, ya: F, xb: F, yb: F, weight: F, plane: I32, width: F, height: F
) -> tuple[U, U]:
    """Append the parts of an edge that affect the image.

    Parts to the left, to the right or below affect no pixel. Parts above affect the whole column, as if they
    ran along the upper border.
    """
    if xa > xb:
        xa, ya, xb, yb, weight = xb, yb, xa, ya, -weight
    if weight == F(0) or xb <= F(0) or xa >= width or xa == xb:
        return front, back
    gradient = (yb - ya) / (xb - xa)
    first, last = max(xa, F(0)), min(xb, width)
    bounded = gradient if abs(gradient) > _MIN_GRADIENT else _MIN_GRADIENT
    at_top = min(max(xa - ya / bounded, first), last)
    at_bottom = min(max(xa + (height - ya) / bounded, first), last)
    low, high = min(at_top, at_bottom), max(at_top, at_bottom)
    if bounded > F(0):
        front, back = add_edge(edges, front, back, first, F(0), low, F(0), weight, plane)
    else:
        front, back = add_edge(edges, front, back, high, F(0), last, F(0), weight, plane)
    y_low = min(max(ya + gradient * (low - xa), F(0)), height)
    y_high = min(max(ya + gradient * (high - xa), F(0)), height)
    return add_edge(edges, front, back, low, y_low, high, y_high, weight, plane)


@compiled_in_place
def accumulate(
    edges: Edges, front: U, back: U, buffer: Float32Array, stride: int, width: F, height: F
) -> None:
    """Add all edges to the buffer: shallow ones before `front`, steep ones after `back`."""
    limit = CAPACITY - N_LANES - max(int(width), int(height)) - 2
    position = ZERO
    for i in range(front):
        if position > limit:
            _scatter_shallow(edges, U(position), buffer, U(stride))
            position = ZERO
        position = _split(edges, i, position, I32(stride), height, False)
    _scatter_shallow(edges, U(position), buffer, U(stride))
    position = ZERO
    for i in range(back + _ONE, U(len(edges.planes))):
        if position > limit:
            _scatter_steep(edges, U(position), buffer, U(stride))
            position = ZERO
        position = _split(edges, i, position, I32(stride), width, True)
    _scatter_steep(edges, U(position), buffer, U(stride))


@compiled_in_place
def _split(edges: Edges, i: int, position: int, stride: I32, limit: F, steep: bool) -> int:
    """Compute the strips of edge i; `limit` is the width (steep) or height (shallow) of the image."""
    values = edges.values
    start, end = values[i, U(START)], values[i, U(END)]
    first = I32(start)  # column of a shallow edge, row of a steep one
    n = int(I32(end)) - int(first) + 1
    across, gradient = values[i, U(ACROSS)], values[i, U(GRADIENT)]
    weight, inverse, plane = values[i, U(WEIGHT)], values[i, U(INVERSE)], edges.planes[i]
    while n > 0:
        if steep:
            steep_strips(
                edges.cells, edges.areas, position, first, plane, start, end, across, gradient, weight,
                inverse, stride, limit,
            )  # fmt: skip
        else:
            shallow_strips(
                edges.cells, edges.areas, position, first, plane, start, end, across, gradient, weight,
                inverse, stride, limit,
            )  # fmt: skip
        position += min(n, N_LANES)
        n -= N_LANES
        first = I32(first + N_LANES)
    return position


@compiled_in_place
def _scatter_shallow(edges: Edges, n: U, buffer: Float32Array, stride: U) -> None:
    cells, areas = edges.cells, edges.areas
    for i in range(n):
        cell = U(np.uint32(cells[i]))
        buffer[cell] += areas[i]
        buffer[cell + stride] += areas[i + _CELLS]
        buffer[cell + stride + stride] += areas[i + _CELLS + _CELLS]


@compiled_in_place
def _scatter_steep(edges: Edges, n: U, buffer: Float32Array, stride: U) -> None:
    """In two passes: consecutive strips write to consecutive rows, and each sum would wait for the last."""
    cells, areas = edges.cells, edges.areas
    for i in range(n):
        cell = U(np.uint32(cells[i]))
        buffer[cell] += areas[i]
        buffer[cell + _ONE] += areas[i + _CELLS]
    for i in range(n):
        cell = U(np.uint32(cells[i])) + stride
        buffer[cell] += areas[i + _CELLS + _CELLS]
        buffer[cell + _ONE] += areas[i + _CELLS + _CELLS + _CELLS]
