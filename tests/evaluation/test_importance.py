import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.evaluation import completeness_of, dci, disentanglement_of

MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(0, 1).map(lambda x: x**3),
)


def test_worked_by_hand() -> None:
    matrix = np.array([[3.0, 1.0], [0.0, 4.0]])
    first = 1 + 0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)
    assert disentanglement_of(matrix) == pytest.approx((4 * first + 4 * 1.0) / 8)
    second = 1 + 0.2 * np.log2(0.2) + 0.8 * np.log2(0.8)
    assert completeness_of(matrix) == pytest.approx((3 * 1.0 + 5 * second) / 8)


@given(MATRICES)
def test_bounds_and_order(matrix: np.ndarray) -> None:
    for metric in (disentanglement_of, completeness_of):
        assert -1e-9 <= metric(matrix) <= 1 + 1e-9
        assert metric(matrix[::-1, ::-1]) == pytest.approx(metric(matrix))
    assert completeness_of(matrix) == disentanglement_of(matrix.T)


def test_nothing_matters() -> None:
    assert disentanglement_of(np.zeros((3, 2))) == completeness_of(np.zeros((3, 2))) == 0.0


def test_one_factor_cannot_be_mixed_with_others() -> None:
    assert disentanglement_of([[0.2], [0.8]]) == 1.0


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(BadInput, match="there are 5 rows"):
        dci(np.arange(5.0)[:, None], np.arange(5.0)[:, None])
