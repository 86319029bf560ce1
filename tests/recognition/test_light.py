"""Sums and orders that are computed without NumPy, against NumPy."""

import numpy as np
import pytest

from everlearn.recognition.alignment import multiply
from everlearn.recognition.light import deviation, mean, median


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 50, 501])
@pytest.mark.parametrize("n_levels", [2, 1000])
def test_statistics_are_those_of_numpy(n: int, n_levels: int) -> None:
    values = np.random.default_rng(n).integers(0, n_levels, n).astype(np.float64) / 7
    assert median(values.copy()) == np.median(values)
    levels = values.astype(np.float32)
    assert mean(levels) == pytest.approx(float(levels.mean(dtype=np.float64)), abs=1e-9)
    assert deviation(levels) == pytest.approx(float(levels.std(dtype=np.float64)), abs=1e-9)


def test_products_of_matrices() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 3, 3))
    found = np.empty((3, 3))
    multiply(first, second, found)
    assert found == pytest.approx(first @ second)
