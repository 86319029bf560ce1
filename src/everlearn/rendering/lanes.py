"""Arithmetic on several numbers at once, in the compiler's own vector language.

Numba turns loops into vector instructions only when it can prove that arrays do not overlap, which it
rarely can. The few loops that matter most are therefore written in LLVM's portable vector form with the
small vocabulary below; LLVM fits them to whatever the processor has.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from llvmlite import ir
from numba.core import types
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
