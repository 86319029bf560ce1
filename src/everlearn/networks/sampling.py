"""Bilinear samples of exemplars along rows of pixels, and sums of their products, in SIMD instructions.

Numba does not vectorize loops that look up pixels, so the instructions are generated with llvmlite. Each of
16 lanes has its own sums, which are added at the end, so that results do not depend on the processor.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from everlearn.rendering.scanline import (
    FLOAT,
    INT32,
    INT64,
    Value,
    Vector,
    data_pointer,
    intrinsic_function,
    pointer_offset,
    splat,
)

N_LANES = 16
N_SUMS = 15
"""The residual, the right side of the normal equations (4), and the upper triangle of their matrix (10)."""
SCALARS = ("a", "b", "cx", "cy", "half_width", "half_height", "x_last", "y_last")
_F, _L = types.float32, types.int64
_FLOATS = ir.VectorType(FLOAT, N_LANES)
Products = Callable[[list[Vector]], list[Vector]]
"""Errors of pixels and their derivatives -> the terms of the sums."""


def load(builder: Value, pointer: Value) -> Vector:
    """Consecutive numbers of an array."""
    return Vector(builder, builder.load(builder.bitcast(pointer, _FLOATS.as_pointer()), align=4))


def _look_up(builder: Value, pixels: Value, indices: Vector) -> list[Vector]:
    """The four bytes of the words at indices, as numbers."""
    words: Value = ir.Constant(ir.VectorType(INT32, N_LANES), ir.Undefined)
    for lane in range(N_LANES):
        number = ir.Constant(INT32, lane)
        index = builder.zext(builder.extract_element(indices.value, number), INT64)
        words = builder.insert_element(words, builder.load(pointer_offset(builder, pixels, index)), number)
    last = ir.Constant(words.type, [ir.Constant(INT32, 255)] * N_LANES)
    shifts = [ir.Constant(words.type, [ir.Constant(INT32, 8 * byte)] * N_LANES) for byte in range(4)]
    shifted = [builder.lshr(words, shift) for shift in shifts]
    return [Vector(builder, builder.and_(each, last)).to_float() for each in shifted]


def _bilinear(
    builder: Value, pixels: Value, x: Vector, y: Vector, of: dict[str, Vector], pitch: Value
) -> tuple[Vector, Vector, Vector]:
    """Values and gradients of an exemplar where a transform maps a row of positions."""
    u = of["a"] * x - of["b"] * y + of["cx"]
    v = of["b"] * x + of["a"] * y + of["cy"]
    # NaN becomes 0 too: an index must stay inside the image.
    u = ((u + 1.0) * of["half_width"] - 0.5).clamp(of["x_last"])
    v = ((v + 1.0) * of["half_height"] - 0.5).clamp(of["y_last"])
    column = u.minimum(of["x_last"] - 1.0).to_int()
    line = v.minimum(of["y_last"] - 1.0).to_int()
    s, t = u - column.to_float(), v - line.to_float()
    indices = line * splat(builder, builder.trunc(pitch, INT32), N_LANES) + column
    p, q, r, o = _look_up(builder, pixels, indices)
    upper, lower, left, right = q - p, o - r, r - p, o - q
    gx = (upper + (lower - upper) * t) * of["half_width"]
    gy = (left + (right - left) * s) * of["half_height"]
    above = p + upper * s
    return above + (r + lower * s - above) * t, gx, gy


def _row_adder(*, with_gradient: bool) -> Callable[..., float]:
    """A function that adds a row of pixels to the sums of all rows, and returns the residual so far."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        exemplar, xs, ys, pixels, sums, channel, row, pitch, padded, n_parts, n, scale, *numbers = arguments
        products: Products = _products
        if signature.args[11] is not types.none:
            single = builder.fptrunc(scale, FLOAT)
            products = _robust(splat(builder, builder.fmul(single, single), N_LANES))
        arrays = zip((exemplar, xs, ys, pixels, sums), signature.args, strict=False)
        flat, xs, ys, pixels, sums = (data_pointer(context, builder, kind, each) for each, kind in arrays)
        of = {name: splat(builder, each, N_LANES) for name, each in zip(SCALARS, numbers, strict=True)}
        share = splat(builder, builder.fdiv(ir.Constant(FLOAT, 1.0), builder.sitofp(n_parts, FLOAT)), N_LANES)
        places = [pointer_offset(builder, sums, N_LANES * i) for i in range(N_SUMS if with_gradient else 1)]
        totals = [_variable(builder, load(builder, place)) for place in places]
        channel_pixels = pointer_offset(builder, flat, channel)
        with cgutils.for_range(builder, _n_blocks(builder, n), intp=INT64) as block:
            at = builder.mul(block.index, ir.Constant(INT64, N_LANES))
            parts = [_variable(builder, _zero(builder)) for _ in range(5 if with_gradient else 1)]
            with cgutils.for_range(builder, n_parts, intp=INT64) as part:
                x = load(builder, pointer_offset(builder, xs, builder.mul(part.index, padded), at))
                y = splat(builder, builder.load(pointer_offset(builder, ys, part.index)), N_LANES)
                value, gx, gy = _bilinear(builder, channel_pixels, x, y, of, pitch)
                for variable, new in zip(
                    parts, [value, gx * x + gy * y, gy * x - gx * y, gx, gy], strict=False
                ):
                    _add(builder, variable, new)
            values = [Vector(builder, builder.load(variable)) * share for variable in parts]
            values[0] -= load(builder, pointer_offset(builder, pixels, row, at))
            values = [_first(builder, builder.sub(n, at), value) for value in values]
            for total, product in zip(totals, products(values), strict=True):
                _add(builder, total, product)
        for place, total in zip(places, totals, strict=True):
            Vector(builder, builder.load(total)).store(place)
        return _sum(Vector(builder, builder.load(totals[0])))

    @intrinsic_function
    def add(
        typing: Any, exemplar: Any, xs: Any, ys: Any, pixels: Any, sums: Any, channel: Any, row: Any,
        pitch: Any, padded: Any, n_parts: Any, n: Any, scale: Any, a: Any, b: Any, cx: Any, cy: Any,
        half_width: Any, half_height: Any, x_last: Any, y_last: Any,
    ) -> Any:  # fmt: skip
        return _F(exemplar, xs, ys, pixels, sums, *[_L] * 6, scale, *[_F] * len(SCALARS)), generate

    return add  # type: ignore[return-value]


def _products(values: list[Vector]) -> list[Vector]:
    """The terms of a pixel: squared error, errors times derivatives, products of derivatives."""
    error, *derivatives = values
    return [error * error, *_weighted(error, derivatives, derivatives)]


def _robust(square_scale: Vector) -> Products:
    """The same of the error of Geman and McClure, e^2 q with q = s^2 / (s^2 + e^2).

    Its derivative is that of a squared error with the weight q^2, which pixels with large errors lose.
    """

    def products(values: list[Vector]) -> list[Vector]:
        error, *derivatives = values
        square = error * error
        q = square_scale / (square_scale + square)
        weighted = [each * (q * q) for each in derivatives]
        return [square * q, *_weighted(error, weighted, derivatives)]

    return products


def _weighted(error: Vector, weighted: list[Vector], derivatives: list[Vector]) -> list[Vector]:
    products = [error * each for each in weighted]
    n = len(derivatives)
    return products + [weighted[i] * derivatives[j] for i in range(n) for j in range(i, n)]


def _variable(builder: Value, value: Vector) -> Value:
    new: Any = cgutils.alloca_once  # has no type annotations
    variable = new(builder, _FLOATS)
    builder.store(value.value, variable)
    return variable


def _add(builder: Value, variable: Value, value: Vector) -> None:
    builder.store((Vector(builder, builder.load(variable)) + value).value, variable)


def _zero(builder: Value) -> Vector:
    return Vector(builder, ir.Constant(_FLOATS, [ir.Constant(FLOAT, 0.0)] * N_LANES))


def _n_blocks(builder: Value, n: Value) -> Value:
    lanes = ir.Constant(INT64, N_LANES)
    return builder.sdiv(builder.add(n, ir.Constant(INT64, N_LANES - 1)), lanes)


def _first(builder: Value, n: Value, vector: Vector) -> Vector:
    """The first n lanes; 0 in the others."""
    lanes = ir.Constant(ir.VectorType(INT32, N_LANES), list(range(N_LANES)))
    is_used = builder.icmp_signed("<", lanes, splat(builder, builder.trunc(n, INT32), N_LANES).value)
    return Vector(builder, builder.select(is_used, vector.value, _zero(builder).value))


def _sum(vector: Vector) -> Value:
    """The sum of all lanes, by halves."""
    while vector.n > 1:
        half = vector.n // 2
        vector = vector.shuffle(vector, range(half)) + vector.shuffle(vector, range(half, vector.n))
    return vector.builder.extract_element(vector.value, ir.Constant(INT32, 0))


add_row, add_row_residuals = (_row_adder(with_gradient=each) for each in (True, False))
"""Add the n pixels of a row to `sums`, (15, 16): residual, right side and matrix of the normal equations.

`exemplar` is flat and holds for each pixel the bytes of it and of its right, lower and lower right
neighbours; the channel that starts at `channel` has rows of `pitch` pixels. `pixels` holds gray levels, from
`row` on. A pixel is sampled at `n_parts` positions, in the rows of `xs` (of `padded` columns) and in `ys`.
`add_row_residuals` adds to the residual only.
"""


@intrinsic_function
def scale_at(typing: Any, scales: Any, i: Any, j: Any) -> Any:
    """Entry (i, j) of an array, or None for None; numba itself would compile an optional number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        scales, i, j = arguments
        if signature.args[0] is types.none:
            return context.get_dummy_value()
        array = context.make_array(signature.args[0])(context, builder, scales)
        n = builder.extract_value(array.shape, 1)
        return builder.load(pointer_offset(builder, array.data, builder.mul(i, n), j))

    return (scales if scales is types.none else scales.dtype)(scales, _L, _L), generate


@intrinsic_function
def sample_row(
    typing: Any, exemplar: Any, xs: Any, out: Any, channel: Any, pitch: Any, n: Any, y: Any,
    a: Any, b: Any, cx: Any, cy: Any, half_width: Any, half_height: Any, x_last: Any, y_last: Any,
) -> Any:  # fmt: skip
    """Write samples at n positions, rounded up to a multiple of 16, with the arguments of `add_row`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        exemplar, xs, out, channel, pitch, n, *numbers = arguments
        arrays = zip((exemplar, xs, out), signature.args, strict=False)
        flat, xs, out = (data_pointer(context, builder, kind, each) for each, kind in arrays)
        y, *vectors = (splat(builder, each, N_LANES) for each in numbers)
        pixels, of = pointer_offset(builder, flat, channel), dict(zip(SCALARS, vectors, strict=True))
        with cgutils.for_range(builder, _n_blocks(builder, n), intp=INT64) as block:
            at = builder.mul(block.index, ir.Constant(INT64, N_LANES))
            x = load(builder, pointer_offset(builder, xs, at))
            _bilinear(builder, pixels, x, y, of, pitch)[0].store(pointer_offset(builder, out, at))
        return context.get_dummy_value()

    return types.void(exemplar, xs, out, *[_L] * 3, *[_F] * (1 + len(SCALARS))), generate
