"""Edges of one image: clipping and accumulation of signed area coverage.

Mispredicted branches are the main cost. Edges are therefore sorted without branches into shallow ones, at the
front of the list, and steep ones, at its back, and each kind is processed in one loop. An edge is split into
strips: its parts within one column (shallow) or one row (steep). Each strip adds signed area to a few cells
of the buffer.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types

from everlearn.rendering.scanline import FLOAT, Simd, Value, data_pointer, intrinsic_function, pointer_offset
from everlearn.shapes.jit import compiled, inlined

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


@intrinsic_function
def shallow_strips(
    typing: Any, cells: Any, areas: Any, position: Any, column: Any, plane: Any, x0: Any, x1: Any, y0: Any,
    gradient: Any, weight: Any, corner: Any, stride: Any, height: Any,
) -> Any:  # fmt: skip
    """Strips in the columns from `column` on, of the edge y = y0 + gradient (x - x0) between x0 and x1.

    With |gradient| <= 1. The areas belong to the cell, the one below it and the one below that; `corner` is
    weight / (2 |gradient|), the weighted area of a triangle of height 1 in the lower row.
    """
    signature = types.void(cells, areas, _L, _I, _I, _F, _F, _F, _F, _F, _F, _I, _F)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        cells, areas, position, column, plane, *edge, stride, height = arguments
        x0, x1, y0, gradient, weight, corner = edge
        v = Simd(builder, N_LANES)
        columns = builder.add(v.splat(column), v.lane_indices())
        x0, y0, gradient, height = v.splat(x0), v.splat(y0), v.splat(gradient), v.splat(height)
        start = v.maximum(x0, v.to_float(columns))
        end = v.minimum(v.splat(x1), v.add(v.to_float(columns), v.constant(1.0)))
        y_start = v.clamp(v.add(y0, v.mul(gradient, v.sub(start, x0))), height)
        y_end = v.clamp(v.add(y0, v.mul(gradient, v.sub(end, x0))), height)
        top, bottom = v.minimum(y_start, y_end), v.maximum(y_start, y_end)
        row = v.to_int(top)
        row_top = v.to_float(row)
        overhang = v.maximum(v.sub(v.sub(bottom, row_top), v.constant(1.0)), v.constant(0.0))
        lower = v.mul(v.splat(corner), v.mul(overhang, overhang))
        total = v.mul(v.splat(weight), v.sub(end, start))
        middle = v.mul(v.constant(0.5), v.add(top, bottom))
        missing = v.mul(total, v.sub(middle, row_top))
        cell = builder.add(builder.mul(row, v.splat(stride)), builder.add(v.splat(plane), columns))
        own = v.add(v.sub(total, missing), lower)
        below = v.sub(v.sub(missing, lower), lower)
        _store_strips(context, builder, v, signature, cells, areas, position, cell, (own, below, lower))
        return context.get_dummy_value()

    return signature, generate


@intrinsic_function
def steep_strips(
    typing: Any, cells: Any, areas: Any, position: Any, row: Any, plane: Any, y0: Any, y1: Any, x0: Any,
    gradient: Any, weight: Any, inverse: Any, stride: Any, width: Any,
) -> Any:  # fmt: skip
    """Strips in the rows from `row` on, of the edge x = x0 + gradient (y - y0) between y0 and y1.

    With |gradient| < 1 and inverse = 1 / gradient, bounded. The areas belong to the cell, the one to the
    right, and the two below them.
    """
    signature = types.void(cells, areas, _L, _I, _I, _F, _F, _F, _F, _F, _F, _I, _F)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        cells, areas, position, row, plane, *edge, stride, width = arguments
        y0, y1, x0, gradient, weight, inverse = edge
        v = Simd(builder, N_LANES)
        rows = builder.add(v.splat(row), v.lane_indices())
        row_top = v.to_float(rows)
        y0, x0, gradient, width = v.splat(y0), v.splat(x0), v.splat(gradient), v.splat(width)
        start = v.maximum(y0, row_top)
        end = v.minimum(v.splat(y1), v.add(row_top, v.constant(1.0)))
        x_start = v.clamp(v.add(x0, v.mul(gradient, v.sub(start, y0))), width)
        x_end = v.clamp(v.add(x0, v.mul(gradient, v.sub(end, y0))), width)
        left, right = v.minimum(x_start, x_end), v.maximum(x_start, x_end)
        column = v.to_int(left)
        overhang = v.maximum(v.sub(v.sub(right, v.to_float(column)), v.constant(1.0)), v.constant(0.0))
        half_height = v.mul(v.constant(0.5), v.sub(end, start))
        total = v.mul(v.splat(weight), v.sub(x_end, x_start))
        middle = v.sub(v.mul(v.constant(0.5), v.add(start, end)), row_top)
        # The part in the right column is at the end of the strip where x is largest.
        sign = builder.select(
            builder.fcmp_ordered("<", inverse, ir.Constant(FLOAT, 0.0)),
            ir.Constant(FLOAT, -1.0),
            ir.Constant(FLOAT, 1.0),
        )
        sign_lanes = v.splat(sign)
        magnitude = v.splat(builder.fmul(inverse, sign))
        reach = v.minimum(v.mul(v.constant(0.5), v.mul(overhang, magnitude)), half_height)
        right_total = v.mul(v.mul(v.splat(weight), sign_lanes), overhang)
        right_middle = v.add(middle, v.mul(sign_lanes, v.sub(half_height, reach)))
        right_missing = v.mul(right_total, right_middle)
        missing = v.sub(v.mul(total, middle), right_missing)
        cell = builder.add(builder.mul(rows, v.splat(stride)), builder.add(v.splat(plane), column))
        own = v.sub(v.sub(total, right_total), missing)
        parts = (own, v.sub(right_total, right_missing), missing, right_missing)
        _store_strips(context, builder, v, signature, cells, areas, position, cell, parts)
        return context.get_dummy_value()

    return signature, generate


def _store_strips(
    context: Value, builder: Value, v: Simd, signature: Any, cells: Value, areas: Value, position: Value,
    cell: Value, parts: tuple[Value, ...],
) -> None:  # fmt: skip
    v.store(cell, pointer_offset(builder, data_pointer(context, builder, signature.args[0], cells), position))
    first = data_pointer(context, builder, signature.args[1], areas)
    for part, vector in enumerate(parts):
        v.store(vector, pointer_offset(builder, first, part * CAPACITY, position))


class Edges(NamedTuple):
    """Buffers for the edges of one image and for their strips."""

    values: Float32Array
    planes: Int32Array
    cells: Int32Array
    areas: Float32Array


@compiled
def new_edges(n: int) -> Edges:
    """Buffers for n edges."""
    return Edges(
        np.empty((n, N_COLUMNS), np.float32),
        np.empty(n, np.int32),
        np.empty(CAPACITY, np.int32),
        np.empty(4 * CAPACITY, np.float32),
    )


@compiled
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


@inlined
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


@compiled
def accumulate(
    edges: Edges, front: U, back: U, buffer: Float32Array, stride: int, width: F, height: F
) -> None:
    """Add all edges to the buffer: shallow ones before `front`, steep ones after `back`."""
    limit = CAPACITY - N_LANES - max(int(width), int(height)) - 2
    position = 0
    for i in range(front):
        if position > limit:
            _scatter_shallow(edges, U(position), buffer, U(stride))
            position = 0
        position = _split(edges, i, position, I32(stride), height, False)
    _scatter_shallow(edges, U(position), buffer, U(stride))
    position = 0
    for i in range(back + _ONE, U(len(edges.planes))):
        if position > limit:
            _scatter_steep(edges, U(position), buffer, U(stride))
            position = 0
        position = _split(edges, i, position, I32(stride), width, True)
    _scatter_steep(edges, U(position), buffer, U(stride))


@compiled
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


@compiled
def _scatter_shallow(edges: Edges, n: U, buffer: Float32Array, stride: U) -> None:
    cells, areas = edges.cells, edges.areas
    for i in range(n):
        cell = U(np.uint32(cells[i]))
        buffer[cell] += areas[i]
        buffer[cell + stride] += areas[i + _CELLS]
        buffer[cell + stride + stride] += areas[i + _CELLS + _CELLS]


@compiled
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
