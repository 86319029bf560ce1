"""What one edge adds to the columns or rows it passes through, eight at a time.

An edge is worth the area between it and the bottom of the picture: sweeping the accumulated amounts down
each column gives every pixel its exact share. A shallow edge is cut into strips one column wide, each of
which touches at most two rows; a steep one into strips one row high, each touching at most two columns.
A strip is recorded as a cell number and three or four amounts, to be added to the buffer later.
"""

from typing import Any

from llvmlite import ir
from numba.core import types

from everlearn.rendering.lanes import FLOAT, Lanes, Value, data, offset, vector_code

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
