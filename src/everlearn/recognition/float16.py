"""Products with descriptors in half precision, as they are stored, without a copy in single precision.

Such a copy would delay the first answer of a process, and every answer would read twice as many bytes.
"""

import numpy as np
import numpy.typing as npt

from everlearn.shapes.jit import compiled, compiled_sums

Float16Array = npt.NDArray[np.float16]
Floats = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint16]

FLOAT16_SCALE = np.float32(2.0**112)
"""Half precision counts exponents from 15 on, single precision from 127 on."""


def products(values: Float16Array, vector: Floats, widths: tuple[int, ...]) -> Floats:
    """Dot products (n, layers) of rows (n, width) with a vector (width,), separately for each layer.

    Example:
        >>> rows = np.array([[1, 2, 3], [4, 5, 6]], np.float16)
        >>> products(rows, np.ones(3, np.float32), (2, 1)).tolist()
        [[3.0, 3.0], [9.0, 6.0]]
    """
    found = np.empty((len(values), len(widths)), np.float32)
    bits = np.ascontiguousarray(values).view(np.uint16)
    _products(bits, np.ascontiguousarray(vector, np.float32), np.cumsum([0, *widths]), found)
    return found


def squares(values: Float16Array, widths: tuple[int, ...]) -> Floats:
    """Squared lengths (n, layers) of rows (n, width), separately for each layer."""
    found = np.empty((len(values), len(widths)), np.float32)
    _squares(np.ascontiguousarray(values).view(np.uint16), np.cumsum([0, *widths]), found)
    return found


def to_float32(values: Float16Array) -> Floats:
    """A copy in single precision; NumPy takes five times as long where numbers are small.

    Example:
        >>> to_float32(np.array([[0.5, -2.0, 2.0**-24]], np.float16)).tolist() == [[0.5, -2.0, 2.0**-24]]
        True
    """
    found = np.empty(values.shape, np.float32)
    _copy(np.ascontiguousarray(values).view(np.uint16).reshape(-1), found.reshape(-1))
    return found


@compiled_sums
def _products(bits: Bits, vector: Floats, ends: npt.NDArray[np.int64], out: Floats) -> None:
    buffer = np.empty(bits.shape[1], np.uint32)
    row = buffer.view(np.float32)
    for i in range(len(bits)):
        _widen(bits[i], buffer)
        for layer in range(len(ends) - 1):
            part = slice(ends[layer], ends[layer + 1])
            out[i, layer] = _dot(row[part], vector[part]) * FLOAT16_SCALE


@compiled
def _copy(bits: Bits, out: Floats) -> None:
    _widen(bits, out.view(np.uint32))
    for k in range(len(out)):
        out[k] *= FLOAT16_SCALE


@compiled_sums
def _squares(bits: Bits, ends: npt.NDArray[np.int64], out: Floats) -> None:
    buffer = np.empty(bits.shape[1], np.uint32)
    row = buffer.view(np.float32)
    for i in range(len(bits)):
        _widen(bits[i], buffer)
        for k in range(len(row)):
            row[k] *= FLOAT16_SCALE
        for layer in range(len(ends) - 1):
            part = row[ends[layer] : ends[layer + 1]]
            out[i, layer] = _dot(part, part)


@compiled
def _widen(bits: Bits, out: npt.NDArray[np.uint32]) -> None:
    """The bits of numbers in half precision as those of single precision, divided by FLOAT16_SCALE."""
    for k in range(len(bits)):
        one = np.uint32(bits[k])
        sign, rest = one & np.uint32(0x8000), one & np.uint32(0x7FFF)
        out[k] = (sign << np.uint32(16)) | (rest << np.uint32(13))


@compiled_sums
def _dot(first: Floats, second: Floats) -> np.float32:
    total = np.float32(0)
    for k in range(len(first)):
        total += first[k] * second[k]
    return total
