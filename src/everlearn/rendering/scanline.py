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


class Vector:
    """An LLVM vector of float32 or int32; operators act lane by lane, a number is in all lanes."""

    def __init__(self, builder: Value, value: Value) -> None:
        self.builder, self.value, self.n = builder, value, value.type.count

    def __add__(self, other: "Vector | float") -> "Vector":
        return self._apply("add", other)

    def __sub__(self, other: "Vector | float") -> "Vector":
        return self._apply("sub", other)

    def __mul__(self, other: "Vector | float") -> "Vector":
        return self._apply("mul", other)

    def __truediv__(self, other: "Vector | float") -> "Vector":
        return self._apply("div", other)

    def minimum(self, other: "Vector | float") -> "Vector":
        """The smaller value of each lane; that of `other` where this is NaN."""
        return self._select("<", self._operand(other))

    def maximum(self, other: "Vector | float") -> "Vector":
        """The larger value of each lane; that of `other` where this is NaN."""
        return self._select(">", self._operand(other))

    def clamp(self, high: "Vector | float") -> "Vector":
        """Each lane clipped to 0..high, so that an index computed from it is within its array."""
        return self.maximum(0.0).minimum(high)

    def sign(self) -> "Vector":
        """-1 in lanes below 0, otherwise 1."""
        negative = self.builder.fcmp_ordered("<", self.value, self._operand(0.0))
        return self._with(self.builder.select(negative, self._operand(-1.0), self._operand(1.0)))

    def to_int(self) -> "Vector":
        """The integer part of each lane."""
        return self._with(self.builder.fptosi(self.value, ir.VectorType(INT32, self.n)))

    def to_float(self) -> "Vector":
        """Integers as floats."""
        return self._with(self.builder.sitofp(self.value, ir.VectorType(FLOAT, self.n)))

    def to_bytes(self) -> "Vector":
        """Integers clipped to 0..255, as bytes; processors do both in one instruction."""
        return self._with(self.builder.trunc(self.maximum(0).minimum(255).value, ir.VectorType(INT8, self.n)))

    def shuffle(self, other: "Vector", lanes: Sequence[int]) -> "Vector":
        """Selected lanes of both vectors; those of the other are numbered after those of this."""
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
        return self._with(self.builder.shuffle_vector(self.value, other.value, mask))

    def store(self, pointer: Value) -> None:
        """Store the vector; the pointer need not be aligned."""
        typed = self.builder.bitcast(pointer, self.value.type.as_pointer())
        self.builder.store(self.value, typed, align=1)

    def _apply(self, operation: str, other: "Vector | float") -> "Vector":
        name = f"f{operation}" if self.value.type.element == FLOAT else operation
        return self._with(getattr(self.builder, name)(self.value, self._operand(other)))

    def _select(self, order: str, other: Value) -> "Vector":
        is_float = self.value.type.element == FLOAT
        compare = self.builder.fcmp_ordered if is_float else self.builder.icmp_signed
        return self._with(self.builder.select(compare(order, self.value, other), self.value, other))

    def _operand(self, other: "Vector | float") -> Value:
        if isinstance(other, Vector):
            return other.value
        return ir.Constant(self.value.type, [ir.Constant(self.value.type.element, other)] * self.n)

    def _with(self, value: Value) -> "Vector":
        return Vector(self.builder, value)


def splat(builder: Value, scalar: Value, n: int) -> Vector:
    """A scalar in n lanes."""
    empty = ir.Constant(ir.VectorType(scalar.type, n), ir.Undefined)
    first = Vector(builder, builder.insert_element(empty, scalar, ir.Constant(INT32, 0)))
    return first.shuffle(Vector(builder, empty), [0] * n)


def data_pointer(context: Value, builder: Value, array_type: types.Array, array: Value) -> Value:
    """Pointer to the first element of an array."""
    return context.make_array(array_type)(context, builder, array).data


def pointer_offset(builder: Value, pointer: Value, *counts: Value) -> Value:
    """Pointer advanced by numbers of elements."""
    for n in counts:
        pointer = builder.gep(pointer, [n if isinstance(n, ir.Value) else ir.Constant(INT64, n)])
    return pointer


Mix = Callable[[list[Vector], list[Vector]], list[Vector]]
"""Sums of the buffer planes and levels -> channels."""
Store = Callable[[list[Vector], Value, Value], None]


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
        target = pointer_offset(builder, data_pointer(context, builder, signature.args[0], out), first)
        channels = [splat(builder, level, N_FILL_LANES) for level in levels]
        width = ir.Constant(INT64, N_FILL_LANES)
        with cgutils.for_range(builder, builder.sdiv(n, width), intp=INT64) as block:
            step = builder.mul(block.index, ir.Constant(INT64, N_FILL_LANES * len(channels)))
            store(channels, pointer_offset(builder, target, step), None)
        last = builder.mul(builder.sub(n, width), ir.Constant(INT64, len(channels)))
        store(channels, pointer_offset(builder, target, last), None)
        return context.get_dummy_value()

    return generate


def _scan(n_planes: int, n_levels: int, mix: Mix, store: Store) -> Callable[..., None]:
    """A function that scans `n_planes` planes; `mix` computes channels from sums, `store` writes them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        buffer, plane, stride, out, first, pitch, channel, n_blocks, height, levels = arguments
        level = data_pointer(context, builder, signature.args[9], levels)
        scalars = [builder.load(pointer_offset(builder, level, i)) for i in range(n_levels)]
        level_vectors = [splat(builder, scalar, N_LANES) for scalar in scalars]
        cells = data_pointer(context, builder, signature.args[0], buffer)
        planes = [cells, pointer_offset(builder, cells, plane)][:n_planes]
        new: Any = cgutils.alloca_once  # has no type annotations
        floats = ir.VectorType(FLOAT, N_LANES)
        zero = Vector(builder, ir.Constant(floats, [ir.Constant(FLOAT, 0.0)] * N_LANES))
        sums = [new(builder, floats) for _ in planes]
        target = pointer_offset(builder, data_pointer(context, builder, signature.args[3], out), first)
        pixel = ir.Constant(INT64, 3 if store is _store_interleaved else 1)
        with cgutils.for_range(builder, n_blocks, intp=INT64) as block:
            column = builder.mul(block.index, ir.Constant(INT64, N_LANES))
            for total in sums:
                builder.store(zero.value, total)
            with cgutils.for_range(builder, height, intp=INT64) as row:
                cell = builder.add(builder.mul(row.index, stride), column)
                values = []
                for total, start in zip(sums, planes, strict=True):
                    pointer = pointer_offset(builder, start, cell)
                    loaded = builder.load(builder.bitcast(pointer, floats.as_pointer()), align=4)
                    values.append(Vector(builder, builder.load(total)) + Vector(builder, loaded))
                    builder.store(values[-1].value, total)
                    zero.store(pointer)
                position = builder.add(builder.mul(row.index, pitch), builder.mul(column, pixel))
                store(mix(values, level_vectors), pointer_offset(builder, target, position), channel)
        return context.get_dummy_value()

    @intrinsic_function
    def scan(
        typing: Any, buffer: Any, plane: Any, stride: Any, out: Any, first: Any, pitch: Any, channel: Any,
        n_blocks: Any, height: Any, levels: Any,
    ) -> Any:  # fmt: skip
        return types.void(buffer, _L, _L, out, _L, _L, _L, _L, _L, levels), generate

    return scan


def _mix_colours(coverage: list[Vector], levels: list[Vector]) -> list[Vector]:
    shape, mark = (each.clamp(1.0) for each in coverage)
    return [levels[c] + (shape * levels[c + 1] + mark * levels[c + 2]) for c in range(0, 9, 3)]


def _store_planar(channels: list[Vector], target: Value, channel: Value) -> None:
    for i, values in enumerate(channels):
        if i > 0:
            target = pointer_offset(values.builder, target, channel)
        _to_target_type(values, target).store(target)


def _store_interleaved(channels: list[Vector], target: Value, channel: Value) -> None:
    red, green, blue = (_to_target_type(values, target) for values in channels)
    n = red.n
    both, padded = red.shuffle(green, range(2 * n)), blue.shuffle(blue, range(2 * n))
    both.shuffle(padded, [lane + part * n for lane in range(n) for part in range(3)]).store(target)


def _to_target_type(values: Vector, target: Value) -> Vector:
    """Levels in the type of the target: bytes 0..255, rounded, or floats 0..1.

    Clipped, because a sum can be slightly out of range where chords overlap.
    """
    return (values + 0.5).to_int().to_bytes() if target.type.pointee == INT8 else values.clamp(1.0)


scan_gray = _scan(1, 1, lambda sums, levels: [levels[0] + sums[0]], _store_planar)
"""One plane that accumulates levels; levels[0] is the background."""
scan_planar = _scan(2, 9, _mix_colours, _store_planar)
"""Two planes of coverage to three separate channels.

levels holds background, shape - background and mark - background of each channel.
"""
scan_interleaved = _scan(2, 9, _mix_colours, _store_interleaved)
"""As scan_planar, with interleaved channels."""
