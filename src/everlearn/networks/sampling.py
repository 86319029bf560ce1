"""Bilinear samples of exemplars along rows of pixels, and their derivatives, in SIMD instructions.

Numba does not vectorize loops that look up pixels, so the instructions are generated with llvmlite. Every
value is computed by the same operations in the same order as one by one, so results do not depend on lanes.
"""

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from everlearn.rendering.scanline import (
    DOUBLE,
    INT32,
    INT64,
    Value,
    Vector,
    data_pointer,
    intrinsic_function,
    pointer_offset,
    splat,
)

INT16 = ir.IntType(16)
N_LANES = 8
N_PLANES = 5
"""Values per pixel: the error, and its derivatives by the four parameters of the transform."""
SCALARS = ("a", "b", "cx", "cy", "y", "half_width", "half_height", "x_last", "y_last", "weight")
_F, _L = types.float64, types.int64


def load(builder: Value, pointer: Value, n: int = N_LANES) -> Vector:
    """Consecutive numbers of an array."""
    typed = builder.bitcast(pointer, ir.VectorType(DOUBLE, n).as_pointer())
    return Vector(builder, builder.load(typed, align=8))


def look_up(builder: Value, pixels: Value, indices: Vector) -> tuple[Vector, Vector]:
    """The bytes at indices and those after them, as numbers; each pair is loaded at once."""
    pairs: Value = ir.Constant(ir.VectorType(INT16, N_LANES), ir.Undefined)
    for lane in range(N_LANES):
        number = ir.Constant(INT32, lane)
        index = builder.zext(builder.extract_element(indices.value, number), INT64)
        pointer = builder.bitcast(pointer_offset(builder, pixels, index), INT16.as_pointer())
        pairs = builder.insert_element(pairs, builder.load(pointer, align=1), number)
    bits = [ir.Constant(pairs.type, [ir.Constant(INT16, value)] * N_LANES) for value in (255, 8)]
    low, high = builder.and_(pairs, bits[0]), builder.lshr(pairs, bits[1])
    if sys.byteorder == "big":
        low, high = high, low
    first, second = (builder.uitofp(each, ir.VectorType(DOUBLE, N_LANES)) for each in (low, high))
    return Vector(builder, first), Vector(builder, second)


def _row_sampler(*, first: bool, with_gradient: bool) -> Callable[..., None]:
    """A function that writes the samples of a row of pixels, or adds them to those that are there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        exemplar, xs, pixels, samples, channel, x_row, row, pitch, plane, n_blocks, *numbers = arguments
        arrays = zip((exemplar, xs, pixels, samples), signature.args, strict=False)
        flat, xs, pixels, samples = (data_pointer(context, builder, kind, each) for each, kind in arrays)
        of = {name: splat(builder, each, N_LANES) for name, each in zip(SCALARS, numbers, strict=True)}
        channel_pixels = pointer_offset(builder, flat, channel)
        with cgutils.for_range(builder, n_blocks, intp=INT64) as block:
            at = builder.mul(block.index, ir.Constant(INT64, N_LANES))
            x = load(builder, pointer_offset(builder, xs, x_row, at))
            value, gx, gy = _bilinear(builder, channel_pixels, x, of, pitch)
            y, weight = of["y"], of["weight"]
            parts = [value, gx * x + gy * y, gy * x - gx * y, gx, gy][: N_PLANES if with_gradient else 1]
            target = pointer_offset(builder, samples, at)
            for number, part in enumerate(parts):
                added = part * weight
                if not first:
                    added = load(builder, target) + added
                elif number == 0:
                    added = load(builder, pointer_offset(builder, pixels, row, at)) + added
                added.store(target)
                target = pointer_offset(builder, target, plane)
        return context.get_dummy_value()

    @intrinsic_function
    def sample(
        typing: Any, exemplar: Any, xs: Any, pixels: Any, samples: Any, channel: Any, x_row: Any, row: Any,
        pitch: Any, plane: Any, n_blocks: Any, a: Any, b: Any, cx: Any, cy: Any, y: Any,
        half_width: Any, half_height: Any, x_last: Any, y_last: Any, weight: Any,
    ) -> Any:  # fmt: skip
        arguments = (exemplar, xs, pixels, samples, *[_L] * 6, *[_F] * len(SCALARS))
        return types.void(*arguments), generate

    return sample


def _bilinear(
    builder: Value, pixels: Value, x: Vector, of: dict[str, Vector], pitch: Value
) -> tuple[Vector, Vector, Vector]:
    """Values and gradients of an exemplar where a transform maps a row of positions."""
    u = of["a"] * x - of["b"] * of["y"] + of["cx"]
    v = of["b"] * x + of["a"] * of["y"] + of["cy"]
    # NaN becomes 0 too: an index must stay inside the image.
    u = ((u + 1.0) * of["half_width"] - 0.5).clamp(of["x_last"])
    v = ((v + 1.0) * of["half_height"] - 0.5).clamp(of["y_last"])
    column = u.minimum(of["x_last"] - 1.0).to_int()
    line = v.minimum(of["y_last"] - 1.0).to_int()
    s, t = u - column.to_double(), v - line.to_double()
    indices = line * splat(builder, builder.trunc(pitch, INT32), N_LANES) + column
    p, q = look_up(builder, pixels, indices)
    r, o = look_up(builder, pointer_offset(builder, pixels, pitch), indices)
    gx = ((q - p) * (t * -1.0 + 1.0) + (o - r) * t) * of["half_width"]
    gy = ((r - p) * (s * -1.0 + 1.0) + (o - q) * s) * of["half_height"]
    upper, lower = p + (q - p) * s, r + (o - r) * s
    return upper + (lower - upper) * t, gx, gy


def _row_adder(*, with_gradient: bool) -> Callable[..., None]:
    """A function that adds the first n pixels of a row of samples to sums, one after the other.

    The sums are the residual and, with gradients, the right side and the rows of the normal equations.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        samples, sums, plane, n = arguments
        first, target = (
            data_pointer(context, builder, kind, each)
            for each, kind in zip((samples, sums), signature.args, strict=False)
        )
        new: Any = cgutils.alloca_once_value  # has no type annotations
        residual = new(builder, builder.load(target))
        rows = [pointer_offset(builder, target, 4 * (row + 1)) for row in range(5 if with_gradient else 0)]
        totals = [new(builder, load(builder, row, 4).value) for row in rows]
        last = builder.sdiv(builder.add(n, ir.Constant(INT64, N_LANES - 1)), ir.Constant(INT64, N_LANES))
        with cgutils.for_range(builder, last, intp=INT64) as block:
            at = builder.mul(block.index, ir.Constant(INT64, N_LANES))
            pointers = [
                pointer_offset(builder, first, builder.mul(plane, ir.Constant(INT64, i)), at)
                for i in range(5)
            ]
            is_used = _is_below(builder, builder.sub(n, at))
            error = _where(is_used, load(builder, pointers[0]))
            for pixel in _transposed(builder, pointers[1:], is_used) if with_gradient else ():
                _add_pixel(builder, totals, pixel, error)
                error = error.shuffle(error, [*range(1, N_LANES), 0])
            for lane in range(N_LANES):
                value = builder.extract_element(error.value, ir.Constant(INT32, lane))
                builder.store(builder.fadd(builder.load(residual), builder.fmul(value, value)), residual)
        builder.store(builder.load(residual), target)
        for row, total in zip(rows, totals, strict=True):
            Vector(builder, builder.load(total)).store(row)
        return context.get_dummy_value()

    @intrinsic_function
    def add(typing: Any, samples: Any, sums: Any, plane: Any, n: Any) -> Any:
        return types.void(samples, sums, _L, _L), generate

    return add


def _is_below(builder: Value, n: Value) -> Value:
    """Whether each lane is one of the first n."""
    lanes = ir.Constant(ir.VectorType(INT64, N_LANES), list(range(N_LANES)))
    return builder.icmp_signed("<", lanes, splat(builder, n, N_LANES).value)


def _where(condition: Value, vector: Vector) -> Vector:
    """The lanes for which a condition is true; 0 in the others."""
    zero = ir.Constant(vector.value.type, [ir.Constant(DOUBLE, 0.0)] * vector.n)
    return Vector(vector.builder, vector.builder.select(condition, vector.value, zero))


def _transposed(builder: Value, pointers: list[Value], is_used: Value) -> list[Vector]:
    """The four derivatives of each pixel; 0 where the exemplar has no gradient."""
    planes = [load(builder, pointer) for pointer in pointers]
    zero = ir.Constant(ir.VectorType(DOUBLE, N_LANES), [ir.Constant(DOUBLE, 0.0)] * N_LANES)
    varies = [builder.fcmp_unordered("!=", each.value, zero) for each in planes[2:]]
    is_used = builder.and_(is_used, builder.or_(*varies))
    a, b, c, d = (_where(is_used, plane) for plane in planes)
    pairs = [lane + part * N_LANES for lane in range(N_LANES) for part in range(2)]
    left, right = a.shuffle(b, pairs), c.shuffle(d, pairs)
    both = [(2 * k, 2 * k + 1, 2 * k + 2 * N_LANES, 2 * k + 1 + 2 * N_LANES) for k in range(N_LANES)]
    return [left.shuffle(right, lanes) for lanes in both]


def _add_pixel(builder: Value, totals: list[Value], pixel: Vector, error: Vector) -> None:
    """Subtract derivatives times the first error from the right side, and add their products to the rows."""
    before = [Vector(builder, builder.load(total)) for total in totals]
    builder.store((before[0] - pixel * error.shuffle(error, [0] * 4)).value, totals[0])
    for row in range(4):
        builder.store((before[row + 1] + pixel * pixel.shuffle(pixel, [row] * 4)).value, totals[row + 1])


set_samples, set_errors = (_row_sampler(first=True, with_gradient=each) for each in (True, False))
"""Write errors (pixels + weight * sample) and weighted derivatives of a row to `samples`.

`exemplar` is flat; the channel that starts at `channel` has rows of `pitch` pixels. `pixels` holds negative
gray levels, from `row` on, and `xs` the positions of columns, from `x_row` on. `plane` is the distance of the
five results of a pixel. `set_errors` writes errors only.
"""
add_samples, add_errors = (_row_sampler(first=False, with_gradient=each) for each in (True, False))
"""As set_samples and set_errors, but add weighted samples to what is there."""
add_pixels, add_residuals = (_row_adder(with_gradient=each) for each in (True, False))
"""Add n pixels of `samples` to `sums`, (6, 4): first the residual, then the right side and the normal matrix.

Each sum is computed in the order of pixels, several sums at once. `add_residuals` adds to the residual only.
"""
