"""The edges of one image: sorted by steepness, clipped where they leave it, added to the buffer.

Branches that go either way at random are what costs most here, so edges are sorted into shallow ones
(filled in from the front of the list) and steep ones (from its back) without a branch, and each kind is
then worked through in one go.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types

from everlearn.rendering.scanline import FLOAT, Lanes, Value, data, offset, vector_code
from everlearn.shapes.jit import compiled, inlined

WIDTH = 8
CAPACITY = 4096

_F, _I, _L = types.float32, types.int32, types.int64


@vector_code
def add_shallow_strips(
    typing: Any, cells: Any, amounts: Any, position: Any, column: Any, plane: Any, x0: Any, x1: Any, y0: Any,
    slope: Any, weight: Any, corner: Any, stride: Any, height: Any,
) -> Any:  # fmt: skip
    """Strips of the columns from `column` on, of the edge y = y0 + slope (x - x0) between x0 and x1.

    With |slope| <= 1. The amounts belong to the cell itself, the one below and the one below that; `corner`
    is weight / (2 |slope|), what a triangle of height 1 in the lower row is worth.
    """
    signature = types.void(cells, amounts, _L, _I, _I, _F, _F, _F, _F, _F, _F, _I, _F)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        cells, amounts, position, column, plane, x0, x1, y0, slope, weight, corner, stride, height = arguments
        v = Lanes(builder, WIDTH)
        columns = builder.add(v.spread(column), v.count())
        x0, y0, slope, height = v.spread(x0), v.spread(y0), v.spread(slope), v.spread(height)
        start = v.most(x0, v.real(columns))
        end = v.least(v.spread(x1), v.add(v.real(columns), v.constant(1.0)))
        y_start = v.clamp(v.add(y0, v.mul(slope, v.sub(start, x0))), height)
        y_end = v.clamp(v.add(y0, v.mul(slope, v.sub(end, x0))), height)
        top, bottom = v.least(y_start, y_end), v.most(y_start, y_end)
        row = v.whole(top)
        row_top = v.real(row)
        overhang = v.most(v.sub(v.sub(bottom, row_top), v.constant(1.0)), v.constant(0.0))
        lower = v.mul(v.spread(corner), v.mul(overhang, overhang))
        total = v.mul(v.spread(weight), v.sub(end, start))
        middle = v.mul(v.constant(0.5), v.add(top, bottom))
        missing = v.mul(total, v.sub(middle, row_top))
        cell = builder.add(builder.mul(row, v.spread(stride)), builder.add(v.spread(plane), columns))
        own = v.add(v.sub(total, missing), lower)
        below = v.sub(v.sub(missing, lower), lower)
        _record(context, builder, v, signature, cells, amounts, position, cell, (own, below, lower))
        return context.get_dummy_value()

    return signature, generate


@vector_code
def add_steep_strips(
    typing: Any, cells: Any, amounts: Any, position: Any, row: Any, plane: Any, y0: Any, y1: Any, x0: Any,
    slope: Any, weight: Any, inverse: Any, stride: Any, width: Any,
) -> Any:  # fmt: skip
    """Strips of the rows from `row` on, of the edge x = x0 + slope (y - y0) between y0 and y1.

    With |slope| < 1 and inverse = 1 / slope, bounded. The amounts belong to the cell itself, the one to the
    right, and the two below them.
    """
    signature = types.void(cells, amounts, _L, _I, _I, _F, _F, _F, _F, _F, _F, _I, _F)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        cells, amounts, position, row, plane, y0, y1, x0, slope, weight, inverse, stride, width = arguments
        v = Lanes(builder, WIDTH)
        rows = builder.add(v.spread(row), v.count())
        row_top = v.real(rows)
        y0, x0, slope, width = v.spread(y0), v.spread(x0), v.spread(slope), v.spread(width)
        start = v.most(y0, row_top)
        end = v.least(v.spread(y1), v.add(row_top, v.constant(1.0)))
        x_start = v.clamp(v.add(x0, v.mul(slope, v.sub(start, y0))), width)
        x_end = v.clamp(v.add(x0, v.mul(slope, v.sub(end, y0))), width)
        left, right = v.least(x_start, x_end), v.most(x_start, x_end)
        column = v.whole(left)
        overhang = v.most(v.sub(v.sub(right, v.real(column)), v.constant(1.0)), v.constant(0.0))
        half_height = v.mul(v.constant(0.5), v.sub(end, start))
        total = v.mul(v.spread(weight), v.sub(x_end, x_start))
        middle = v.sub(v.mul(v.constant(0.5), v.add(start, end)), row_top)
        # The part in the right-hand column lies at the end of the strip where x is largest.
        sign = builder.select(
            builder.fcmp_ordered("<", inverse, ir.Constant(FLOAT, 0.0)),
            ir.Constant(FLOAT, -1.0),
            ir.Constant(FLOAT, 1.0),
        )
        sign_lanes = v.spread(sign)
        magnitude = v.spread(builder.fmul(inverse, sign))
        reach = v.least(v.mul(v.constant(0.5), v.mul(overhang, magnitude)), half_height)
        right_total = v.mul(v.mul(v.spread(weight), sign_lanes), overhang)
        right_middle = v.add(middle, v.mul(sign_lanes, v.sub(half_height, reach)))
        right_missing = v.mul(right_total, right_middle)
        missing = v.sub(v.mul(total, middle), right_missing)
        cell = builder.add(builder.mul(rows, v.spread(stride)), builder.add(v.spread(plane), column))
        own = v.sub(v.sub(total, right_total), missing)
        parts = (own, v.sub(right_total, right_missing), missing, right_missing)
        _record(context, builder, v, signature, cells, amounts, position, cell, parts)
        return context.get_dummy_value()

    return signature, generate


def _record(
    context: Value, builder: Value, v: Lanes, signature: Any, cells: Value, amounts: Value, position: Value,
    cell: Value, parts: tuple[Value, ...],
) -> None:  # fmt: skip
    v.store(cell, offset(builder, data(context, builder, signature.args[0], cells), position))
    first = data(context, builder, signature.args[1], amounts)
    for part, vector in enumerate(parts):
        v.store(vector, offset(builder, first, part * CAPACITY, position))


Float32Array = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
F = np.float32
I32 = np.int32
U = np.uint64  # numba checks signed indices for being negative, which stops it from using vectors

# Columns of the list of edges. "Along" is x for shallow edges and y for steep ones.
START, END, ACROSS, SLOPE, WEIGHT, INVERSE = range(6)
N_COLUMNS = 6

_FLATTEST = F(1e-12)
_LARGEST_INVERSE = F(1e4)
_CELLS = U(CAPACITY)
_ONE = U(1)


class Edges(NamedTuple):
    """Room for the edges of one image and the strips they are cut into."""

    values: Float32Array
    planes: Int32Array
    cells: Int32Array
    amounts: Float32Array


@compiled
def new_edges(n: int) -> Edges:
    """Room for n edges."""
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
    """Put the edge from a to b into the list; give the new ends of its two parts."""
    dx, dy = xb - xa, yb - ya
    shallow = abs(dy) <= abs(dx)
    along, across = (dx, dy) if shallow else (dy, dx)
    backwards = along < F(0)
    slot = front if shallow else back
    start, end = (xa, xb) if shallow else (ya, yb)
    across_start, across_end = (ya, yb) if shallow else (xa, xb)
    slope = across / (along if along != F(0) else F(1))
    signed = -weight if backwards else weight
    values = edges.values
    values[slot, U(START)] = end if backwards else start
    values[slot, U(END)] = start if backwards else end
    values[slot, U(ACROSS)] = across_end if backwards else across_start
    values[slot, U(SLOPE)] = slope
    values[slot, U(WEIGHT)] = signed
    inverse = along / (across if across != F(0) else F(1))
    corner = F(0.5) * signed * min(abs(inverse), _LARGEST_INVERSE)
    values[slot, U(INVERSE)] = corner if shallow else inverse
    edges.planes[slot] = plane
    counts = (weight != F(0)) & (dx != F(0))  # a vertical edge has no area below it
    return front + U(counts & shallow), back - U(counts & (not shallow))


@inlined
def add_clipped_edge(
    edges: Edges, front: U, back: U, xa: F, ya: F, xb: F, yb: F, weight: F, plane: I32, width: F, height: F
) -> tuple[U, U]:
    """Put only what matters of an edge into the list.

    What lies left, right or below of the image matters to no pixel of it; what lies above counts in full
    for the whole column, as if it ran along the upper border.
    """
    if xa > xb:
        xa, ya, xb, yb, weight = xb, yb, xa, ya, -weight
    if weight == F(0) or xb <= F(0) or xa >= width or xa == xb:
        return front, back
    slope = (yb - ya) / (xb - xa)
    first, last = max(xa, F(0)), min(xb, width)
    steepness = slope if abs(slope) > _FLATTEST else _FLATTEST
    at_top = min(max(xa - ya / steepness, first), last)
    at_bottom = min(max(xa + (height - ya) / steepness, first), last)
    low, high = min(at_top, at_bottom), max(at_top, at_bottom)
    if steepness > F(0):
        front, back = add_edge(edges, front, back, first, F(0), low, F(0), weight, plane)
    else:
        front, back = add_edge(edges, front, back, high, F(0), last, F(0), weight, plane)
    y_low = min(max(ya + slope * (low - xa), F(0)), height)
    y_high = min(max(ya + slope * (high - xa), F(0)), height)
    return add_edge(edges, front, back, low, y_low, high, y_high, weight, plane)


@compiled
def accumulate(
    edges: Edges, front: U, back: U, buffer: Float32Array, stride: int, width: F, height: F
) -> None:
    """Add all edges to the buffer: the shallow ones before `front`, the steep ones after `back`."""
    room = CAPACITY - WIDTH - max(int(width), int(height)) - 2
    position = 0
    for i in range(front):
        if position > room:
            _spill_shallow(edges, U(position), buffer, U(stride))
            position = 0
        position = _cut_shallow(edges, i, position, I32(stride), height)
    _spill_shallow(edges, U(position), buffer, U(stride))
    position = 0
    for i in range(back + _ONE, U(len(edges.planes))):
        if position > room:
            _spill_steep(edges, U(position), buffer, U(stride))
            position = 0
        position = _cut_steep(edges, i, position, I32(stride), width)
    _spill_steep(edges, U(position), buffer, U(stride))


@compiled
def _cut_shallow(edges: Edges, i: int, position: int, stride: I32, height: F) -> int:
    values = edges.values
    start, end = values[i, U(START)], values[i, U(END)]
    column = I32(start)
    n = int(I32(end)) - int(column) + 1
    while n > 0:
        add_shallow_strips(
            edges.cells, edges.amounts, position, column, edges.planes[i], start, end, values[i, U(ACROSS)],
            values[i, U(SLOPE)], values[i, U(WEIGHT)], values[i, U(INVERSE)], stride, height,
        )  # fmt: skip
        position += min(n, WIDTH)
        n -= WIDTH
        column = I32(column + WIDTH)
    return position


@compiled
def _cut_steep(edges: Edges, i: int, position: int, stride: I32, width: F) -> int:
    values = edges.values
    start, end = values[i, U(START)], values[i, U(END)]
    row = I32(start)
    n = int(I32(end)) - int(row) + 1
    while n > 0:
        add_steep_strips(
            edges.cells, edges.amounts, position, row, edges.planes[i], start, end, values[i, U(ACROSS)],
            values[i, U(SLOPE)], values[i, U(WEIGHT)], values[i, U(INVERSE)], stride, width,
        )  # fmt: skip
        position += min(n, WIDTH)
        n -= WIDTH
        row = I32(row + WIDTH)
    return position


@compiled
def _spill_shallow(edges: Edges, n: U, buffer: Float32Array, stride: U) -> None:
    cells, amounts = edges.cells, edges.amounts
    for i in range(n):
        cell = U(np.uint32(cells[i]))
        buffer[cell] += amounts[i]
        buffer[cell + stride] += amounts[i + _CELLS]
        buffer[cell + stride + stride] += amounts[i + _CELLS + _CELLS]


@compiled
def _spill_steep(edges: Edges, n: U, buffer: Float32Array, stride: U) -> None:
    """In two passes: strips follow each other down the rows, and each would wait for the last one's sum."""
    cells, amounts = edges.cells, edges.amounts
    for i in range(n):
        cell = U(np.uint32(cells[i]))
        buffer[cell] += amounts[i]
        buffer[cell + _ONE] += amounts[i + _CELLS]
    for i in range(n):
        cell = U(np.uint32(cells[i])) + stride
        buffer[cell] += amounts[i + _CELLS + _CELLS]
        buffer[cell + _ONE] += amounts[i + _CELLS + _CELLS + _CELLS]
