"""From accumulated area coverage to pixels: prefix sums down sixteen columns at a time, in SIMD instructions.

Each scan also clears the buffer for the next image. The instructions are generated with llvmlite, because
numba does not vectorize these loops.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

N_LANES = 16
N_FILL_LANES = 64

FLOAT = ir.FloatType()
INT8, INT32, INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_L = types.int64

Value = Any  # llvmlite has no type annotations


def intrinsic_function(build: Callable[..., Any]) -> Callable[..., None]:
    """Numba's `intrinsic` decorator, typed as callers see the function: without the first argument."""
    return cast(Callable[..., None], intrinsic(build))


class Simd:
    """Instructions on vectors of n float32 or int32 values."""

    def __init__(self, builder: Value, n: int) -> None:
        self.builder, self.n = builder, n
        self.floats = ir.VectorType(FLOAT, n)
        self.ints = ir.VectorType(INT32, n)

    def constant(self, value: float) -> Value:
        """A constant in all lanes."""
        return ir.Constant(self.floats, [ir.Constant(FLOAT, float(value))] * self.n)

    def lane_indices(self) -> Value:
        """0, 1, 2, ... as integers."""
        return ir.Constant(self.ints, [ir.Constant(INT32, lane) for lane in range(self.n)])

    def splat(self, scalar: Value) -> Value:
        """A scalar in all lanes."""
        empty = ir.Constant(ir.VectorType(scalar.type, self.n), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(INT32, 0))
        return self.shuffle(first, empty, [0] * self.n)

    def shuffle(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """Selected lanes of a and b; the lanes of b are numbered after those of a."""
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

    def minimum(self, a: Value, b: Value) -> Value:
        """Lane by lane min(a, b); b where a is NaN."""
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def maximum(self, a: Value, b: Value) -> Value:
        """Lane by lane max(a, b); b where a is NaN."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def clamp(self, a: Value, high: Value) -> Value:
        """Each lane clipped to 0..high, so that an index computed from it is within its array."""
        return self.minimum(self.maximum(a, self.constant(0.0)), high)

    def to_int(self, a: Value) -> Value:
        """The integer part of each lane, as integers."""
        return self.builder.fptosi(a, self.ints)

    def to_bytes(self, a: Value) -> Value:
        """Integers clipped to 0..255, as bytes; processors do both in one instruction."""
        bounds = [ir.Constant(self.ints, [ir.Constant(INT32, bound)] * self.n) for bound in (0, 255)]
        above = self.builder.select(self.builder.icmp_signed(">", a, bounds[0]), a, bounds[0])
        within = self.builder.select(self.builder.icmp_signed("<", above, bounds[1]), above, bounds[1])
        return self.builder.trunc(within, ir.VectorType(INT8, self.n))

    def to_float(self, a: Value) -> Value:
        """Integers as floats."""
        return self.builder.sitofp(a, self.floats)

    def load(self, pointer: Value) -> Value:
        """Load n floats."""
        return self.builder.load(self.builder.bitcast(pointer, self.floats.as_pointer()), align=4)

    def store(self, vector: Value, pointer: Value) -> None:
        """Store a vector; the pointer need not be aligned."""
        typed = self.builder.bitcast(pointer, vector.type.as_pointer())
        self.builder.store(vector, typed, align=1)


def data_pointer(context: Value, builder: Value, array_type: types.Array, array: Value) -> Value:
    """Pointer to the first element of an array."""
    return context.make_array(array_type)(context, builder, array).data


def pointer_offset(builder: Value, pointer: Value, *counts: Value) -> Value:
    """Pointer advanced by numbers of elements."""
    for n in counts:
        pointer = builder.gep(pointer, [n if isinstance(n, ir.Value) else ir.Constant(INT64, n)])
    return pointer


Mix = Callable[[Simd, list[Value], list[Value]], list[Value]]
"""Sums of the buffer planes and levels -> channels."""
Store = Callable[[Simd, list[Value], Value, Value], None]


@intrinsic_function
def fill(typing: Any, out: Any, first: Any, n: Any, level: Any) -> Any:
    """Set the n pixels from `first` on to a level; n is at least 64."""
    signature = types.void(out, _L, _L, types.float32)
    return signature, _fill(_store_planar)


@intrinsic_function
def fill_interleaved(typing: Any, out: Any, first: Any, n: Any, red: Any, green: Any, blue: Any) -> Any:
    """As fill, with interleaved channels."""
    signature = types.void(out, _L, _L, types.float32, types.float32, types.float32)
    return signature, _fill(_store_interleaved)


def _fill(store: Store) -> Callable[..., Value]:
    """The code of a fill; the last block overlaps the one before, so that it ends at the last pixel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        out, first, n, *levels = arguments
        v = Simd(builder, N_FILL_LANES)
        target = pointer_offset(builder, data_pointer(context, builder, signature.args[0], out), first)
        channels = [v.splat(level) for level in levels]
        width = ir.Constant(INT64, N_FILL_LANES)
        with cgutils.for_range(builder, builder.sdiv(n, width), intp=INT64) as block:
            step = builder.mul(block.index, ir.Constant(INT64, N_FILL_LANES * len(channels)))
            store(v, channels, pointer_offset(builder, target, step), None)
        last = builder.mul(builder.sub(n, width), ir.Constant(INT64, len(channels)))
        store(v, channels, pointer_offset(builder, target, last), None)
        return context.get_dummy_value()

    return generate


def _scan(n_planes: int, n_levels: int, mix: Mix, store: Store) -> Callable[..., None]:
    """A function that scans `n_planes` planes; `mix` computes channels from sums, `store` writes them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        buffer, plane, stride, out, first, pitch, channel, n_blocks, height, levels = arguments
        v = Simd(builder, N_LANES)
        level = data_pointer(context, builder, signature.args[9], levels)
        level_vectors = [v.splat(builder.load(pointer_offset(builder, level, i))) for i in range(n_levels)]
        cells = data_pointer(context, builder, signature.args[0], buffer)
        planes = [cells, pointer_offset(builder, cells, plane)][:n_planes]
        new: Any = cgutils.alloca_once  # has no type annotations
        sums = [new(builder, v.floats) for _ in planes]
        target = pointer_offset(builder, data_pointer(context, builder, signature.args[3], out), first)
        pixel = ir.Constant(INT64, 3 if store is _store_interleaved else 1)
        with cgutils.for_range(builder, n_blocks, intp=INT64) as block:
            column = builder.mul(block.index, ir.Constant(INT64, N_LANES))
            for total in sums:
                builder.store(v.constant(0.0), total)
            with cgutils.for_range(builder, height, intp=INT64) as row:
                cell = builder.add(builder.mul(row.index, stride), column)
                values = [
                    _add_row(v, builder, total, pointer_offset(builder, p, cell))
                    for total, p in zip(sums, planes, strict=True)
                ]
                position = builder.add(builder.mul(row.index, pitch), builder.mul(column, pixel))
                store(v, mix(v, values, level_vectors), pointer_offset(builder, target, position), channel)
        return context.get_dummy_value()

    @intrinsic_function
    def scan(
        typing: Any, buffer: Any, plane: Any, stride: Any, out: Any, first: Any, pitch: Any, channel: Any,
        n_blocks: Any, height: Any, levels: Any,
    ) -> Any:  # fmt: skip
        return types.void(buffer, _L, _L, out, _L, _L, _L, _L, _L, levels), generate

    return scan


def _add_row(v: Simd, builder: Value, total: Value, cell: Value) -> Value:
    """Add a row of the buffer to the running sum and clear it."""
    value = v.add(builder.load(total), v.load(cell))
    builder.store(value, total)
    v.store(v.constant(0.0), cell)
    return value


def _mix_colours(v: Simd, coverage: list[Value], levels: list[Value]) -> list[Value]:
    shape, mark = (v.clamp(c, v.constant(1.0)) for c in coverage)
    channels = []
    for c in range(0, 9, 3):
        mixed = v.add(v.mul(shape, levels[c + 1]), v.mul(mark, levels[c + 2]))
        channels.append(v.add(levels[c], mixed))
    return channels


def _store_planar(v: Simd, channels: list[Value], target: Value, channel: Value) -> None:
    for i, values in enumerate(channels):
        if i > 0:
            target = pointer_offset(v.builder, target, channel)
        v.store(_to_target_type(v, values, target), target)


def _store_interleaved(v: Simd, channels: list[Value], target: Value, channel: Value) -> None:
    red, green, blue = (_to_target_type(v, values, target) for values in channels)
    both = v.shuffle(red, green, range(2 * v.n))
    padded = v.shuffle(blue, blue, range(2 * v.n))
    order = [lane + part * v.n for lane in range(v.n) for part in range(3)]
    v.store(v.shuffle(both, padded, order), target)


def _to_target_type(v: Simd, values: Value, target: Value) -> Value:
    """Levels in the type of the target: bytes 0..255, rounded, or floats 0..1.

    Clipped, because a sum can be slightly out of range where chords overlap.
    """
    if target.type.pointee == INT8:
        return v.to_bytes(v.to_int(v.add(values, v.constant(0.5))))
    return v.clamp(values, v.constant(1.0))


scan_gray = _scan(1, 1, lambda v, sums, levels: [v.add(levels[0], sums[0])], _store_planar)
"""One plane that accumulates levels; levels[0] is the background."""
scan_planar = _scan(2, 9, _mix_colours, _store_planar)
"""Two planes of coverage to three separate channels.

levels holds background, shape - background and mark - background of each channel.
"""
scan_interleaved = _scan(2, 9, _mix_colours, _store_interleaved)
"""As scan_planar, with interleaved channels."""
