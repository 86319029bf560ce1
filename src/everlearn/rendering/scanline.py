"""From accumulated amounts to pixels: fills, and running sums down sixteen columns at a time.

Each sweep also empties the buffer behind itself, so that it is ready for the next image.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

FLOAT = ir.FloatType()
INT8, INT32, INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)

# llvmlite carries no types of its own.
Value = Any


def vector_code(build: Callable[..., Any]) -> Callable[..., None]:
    """A function for compiled code whose instructions are written out by `build`.

    Numba's own decorator, with the type that callers see: they do not pass the first argument.
    """
    return cast(Callable[..., None], intrinsic(build))


class Lanes:
    """Vectors of n float32 (or int32) values inside a function under construction."""

    def __init__(self, builder: Value, n: int) -> None:
        self.builder, self.n = builder, n
        self.floats = ir.VectorType(FLOAT, n)
        self.ints = ir.VectorType(INT32, n)

    def constant(self, value: float) -> Value:
        """The same number in every lane."""
        return ir.Constant(self.floats, [ir.Constant(FLOAT, float(value))] * self.n)

    def count(self) -> Value:
        """0, 1, 2, ... as whole numbers."""
        return ir.Constant(self.ints, [ir.Constant(INT32, lane) for lane in range(self.n)])

    def spread(self, scalar: Value) -> Value:
        """One scalar in every lane."""
        empty = ir.Constant(ir.VectorType(scalar.type, self.n), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(INT32, 0))
        return self.pick(first, empty, [0] * self.n)

    def pick(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """A vector of chosen lanes of a, followed in numbering by those of b."""
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), [ir.Constant(INT32, lane) for lane in lanes])
        return self.builder.shuffle_vector(a, b, mask)

    def add(self, a: Value, b: Value) -> Value:
        """Lane by lane a + b."""
        return self.builder.fadd(a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """Lane by lane a - b."""
        return self.builder.fsub(a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """Lane by lane a * b."""
        return self.builder.fmul(a, b)

    def least(self, a: Value, b: Value) -> Value:
        """The smaller one in each lane; b where a is not a number."""
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def most(self, a: Value, b: Value) -> Value:
        """The larger one in each lane; b where a is not a number."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def clamp(self, a: Value, high: Value) -> Value:
        """Each lane brought into 0..high, so that an index made of it never leaves its array."""
        return self.least(self.most(a, self.constant(0.0)), high)

    def whole(self, a: Value) -> Value:
        """The integer part of each lane, as whole numbers."""
        return self.builder.fptosi(a, self.ints)

    def bytes(self, a: Value) -> Value:
        """Whole numbers brought into 0..255 and packed; in this form processors do both at once."""
        bounds = [ir.Constant(self.ints, [ir.Constant(INT32, bound)] * self.n) for bound in (0, 255)]
        above = self.builder.select(self.builder.icmp_signed(">", a, bounds[0]), a, bounds[0])
        within = self.builder.select(self.builder.icmp_signed("<", above, bounds[1]), above, bounds[1])
        return self.builder.trunc(within, ir.VectorType(INT8, self.n))

    def real(self, a: Value) -> Value:
        """Whole numbers as floats."""
        return self.builder.sitofp(a, self.floats)

    def load(self, pointer: Value) -> Value:
        """As many floats as there are lanes, from memory."""
        return self.builder.load(self.builder.bitcast(pointer, self.floats.as_pointer()), align=4)

    def store(self, vector: Value, pointer: Value) -> None:
        """A vector of any kind to memory that need not be aligned."""
        typed = self.builder.bitcast(pointer, vector.type.as_pointer())
        self.builder.store(vector, typed, align=1)


def data(context: Value, builder: Value, array_type: types.Array, array: Value) -> Value:
    """The address of the first element of an array."""
    return context.make_array(array_type)(context, builder, array).data


def offset(builder: Value, pointer: Value, *counts: Value) -> Value:
    """The address some elements further on."""
    for n in counts:
        pointer = builder.gep(pointer, [n if isinstance(n, ir.Value) else ir.Constant(INT64, n)])
    return pointer


WIDTH = 16
FILL_WIDTH = 64

_L = types.int64
Mix = Callable[[Lanes, list[Value], list[Value]], list[Value]]
Put = Callable[[Lanes, list[Value], Value, Value], None]


@vector_code
def sweep_gray(
    typing: Any, buffer: Any, plane: Any, stride: Any, out: Any, first: Any, pitch: Any, channel: Any,
    n_blocks: Any, height: Any, levels: Any,
) -> Any:  # fmt: skip
    """One buffer that already holds levels; levels[0] is the background."""
    signature = types.void(buffer, _L, _L, out, _L, _L, _L, _L, _L, levels)
    return signature, _sweep(1, 1, lambda v, sums, levels: [v.add(levels[0], sums[0])], _put_planes)


@vector_code
def sweep_planes(
    typing: Any, buffer: Any, plane: Any, stride: Any, out: Any, first: Any, pitch: Any, channel: Any,
    n_blocks: Any, height: Any, levels: Any,
) -> Any:  # fmt: skip
    """Two buffers of coverage mixed into three separate channels.

    levels holds background, shape minus background and mark minus background for each channel.
    """
    signature = types.void(buffer, _L, _L, out, _L, _L, _L, _L, _L, levels)
    return signature, _sweep(2, 9, _mix_colours, _put_planes)


@vector_code
def sweep_pixels(
    typing: Any, buffer: Any, plane: Any, stride: Any, out: Any, first: Any, pitch: Any, channel: Any,
    n_blocks: Any, height: Any, levels: Any,
) -> Any:  # fmt: skip
    """As sweep_planes, with red, green and blue of a pixel next to each other."""
    signature = types.void(buffer, _L, _L, out, _L, _L, _L, _L, _L, levels)
    return signature, _sweep(2, 9, _mix_colours, _put_pixels)


@vector_code
def fill(typing: Any, out: Any, first: Any, n: Any, level: Any) -> Any:
    """The n pixels from `first` on at one level; n is at least 64."""
    signature = types.void(out, _L, _L, types.float32)
    return signature, _fill(_put_planes)


@vector_code
def fill_pixels(typing: Any, out: Any, first: Any, n: Any, red: Any, green: Any, blue: Any) -> Any:
    """As fill, in colour, with red, green and blue of a pixel next to each other."""
    signature = types.void(out, _L, _L, types.float32, types.float32, types.float32)
    return signature, _fill(_put_pixels)


def _fill(put: Put) -> Callable[..., Value]:
    """The code of a fill; the last block is laid so that it ends where the pixels end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        out, first, n, *levels = arguments
        v = Lanes(builder, FILL_WIDTH)
        target = offset(builder, data(context, builder, signature.args[0], out), first)
        channels = [v.spread(level) for level in levels]
        with cgutils.for_range(builder, builder.sdiv(n, ir.Constant(INT64, FILL_WIDTH)), intp=INT64) as block:
            step = builder.mul(block.index, ir.Constant(INT64, FILL_WIDTH * len(channels)))
            put(v, channels, offset(builder, target, step), None)
        last = builder.mul(builder.sub(n, ir.Constant(INT64, FILL_WIDTH)), ir.Constant(INT64, len(channels)))
        put(v, channels, offset(builder, target, last), None)
        return context.get_dummy_value()

    return generate


def _sweep(n_planes: int, n_levels: int, mix: Mix, put: Put) -> Callable[..., Value]:
    """The code of a sweep over `n_planes` buffers; `mix` makes channels of sums, `put` stores them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        buffer, plane, stride, out, first, pitch, channel, n_blocks, height, levels = arguments
        v = Lanes(builder, WIDTH)
        level = data(context, builder, signature.args[9], levels)
        spread_levels = [v.spread(builder.load(offset(builder, level, i))) for i in range(n_levels)]
        cells = data(context, builder, signature.args[0], buffer)
        planes = [cells, offset(builder, cells, plane)][:n_planes]
        new: Any = cgutils.alloca_once  # untyped, unlike its neighbours
        sums = [new(builder, v.floats) for _ in planes]
        target = offset(builder, data(context, builder, signature.args[3], out), first)
        pixel = ir.Constant(INT64, 3 if put is _put_pixels else 1)
        with cgutils.for_range(builder, n_blocks, intp=INT64) as block:
            column = builder.mul(block.index, ir.Constant(INT64, WIDTH))
            for total in sums:
                builder.store(v.constant(0.0), total)
            with cgutils.for_range(builder, height, intp=INT64) as row:
                here = builder.add(builder.mul(row.index, stride), column)
                values = [
                    _take(v, builder, total, offset(builder, p, here))
                    for total, p in zip(sums, planes, strict=True)
                ]
                place = builder.add(builder.mul(row.index, pitch), builder.mul(column, pixel))
                put(v, mix(v, values, spread_levels), offset(builder, target, place), channel)
        return context.get_dummy_value()

    return generate


def _take(v: Lanes, builder: Value, total: Value, cell: Value) -> Value:
    """Add a row of the buffer to the running total and empty it."""
    value = v.add(builder.load(total), v.load(cell))
    builder.store(value, total)
    v.store(v.constant(0.0), cell)
    return value


def _mix_colours(v: Lanes, coverage: list[Value], levels: list[Value]) -> list[Value]:
    shape, mark = (v.clamp(c, v.constant(1.0)) for c in coverage)
    channels = []
    for c in range(0, 9, 3):
        mixed = v.add(v.mul(shape, levels[c + 1]), v.mul(mark, levels[c + 2]))
        channels.append(v.add(levels[c], mixed))
    return channels


def _put_planes(v: Lanes, channels: list[Value], target: Value, channel: Value) -> None:
    for i, values in enumerate(channels):
        if i > 0:
            target = offset(v.builder, target, channel)
        v.store(_as_stored(v, values, target), target)


def _put_pixels(v: Lanes, channels: list[Value], target: Value, channel: Value) -> None:
    red, green, blue = (_as_stored(v, values, target) for values in channels)
    both = v.pick(red, green, range(2 * v.n))
    padded = v.pick(blue, blue, range(2 * v.n))
    order = [lane + part * v.n for lane in range(v.n) for part in range(3)]
    v.store(v.pick(both, padded, order), target)


def _as_stored(v: Lanes, values: Value, target: Value) -> Value:
    """Levels as the target holds them: bytes 0..255, rounded, or floats 0..1.

    Bounded too: where a chain of chords overlaps itself by a hair, a sum can lie outside.
    """
    if target.type.pointee == INT8:
        return v.bytes(v.whole(v.add(values, v.constant(0.5))))
    return v.clamp(values, v.constant(1.0))
