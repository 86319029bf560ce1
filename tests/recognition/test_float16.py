"""Products with numbers in half precision are those of a copy in single precision."""

import numpy as np
import pytest

from everlearn.recognition.float16 import products, squares, to_float32

WIDTHS = (5, 16, 43)
EDGES = np.array([0.0, -0.0, 2.0**-24, -(2.0**-24), 2.0**-14, 65504, -65504, 1.0], np.float16)


def rows() -> np.ndarray:
    return (10 * np.random.default_rng(0).normal(size=(300, sum(WIDTHS)))).astype(np.float16)


def test_every_number_is_converted_exactly() -> None:
    all_bits = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = np.concatenate([all_bits[np.isfinite(all_bits)], EDGES])
    assert np.array_equal(to_float32(finite[None])[0], finite.astype(np.float32))


def test_products_and_squares_are_taken_for_each_layer() -> None:
    found, vector = rows(), np.random.default_rng(1).normal(size=sum(WIDTHS)).astype(np.float32)
    parts = np.split(found.astype(np.float64), np.cumsum(WIDTHS)[:-1], axis=1)
    vectors = np.split(vector, np.cumsum(WIDTHS)[:-1])
    expected = np.stack([part @ other for part, other in zip(parts, vectors, strict=True)], axis=1)
    assert products(found, vector, WIDTHS) == pytest.approx(expected, abs=1e-3)
    assert products(found[::2], vector, WIDTHS) == pytest.approx(expected[::2], abs=1e-3)
    lengths = np.stack([np.square(part).sum(axis=1) for part in parts], axis=1)
    assert squares(found, WIDTHS) == pytest.approx(lengths, rel=1e-5)
