import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.evaluation import (
    evaluation_rows,
    learning_curve_area,
    min_accuracy,
    windowed_forgetting,
    windowed_plasticity,
    worst_case_accuracy,
)

NAN = float("nan")
# Three tasks, two evaluations each; the stability gap shows in rows 2 and 4.
WORKED = [
    [0.5, NAN, NAN],
    [0.9, NAN, NAN],
    [0.3, 0.6, NAN],
    [0.8, 0.9, NAN],
    [0.4, 0.2, 0.7],
    [0.8, 0.8, 1.0],
]
LEARNING = [0, 0, 1, 1, 2, 2]


def test_worked_by_hand() -> None:
    assert min_accuracy(evaluation_rows(WORKED, LEARNING)) == pytest.approx((0.3 + 0.2) / 2)
    assert worst_case_accuracy(evaluation_rows(WORKED, LEARNING)) == pytest.approx(1.0 / 3 + 2 / 3 * 0.25)
    assert windowed_forgetting(WORKED, 2) == pytest.approx((0.6 + 0.7 + 0.0) / 3)
    assert windowed_plasticity(WORKED, 2) == pytest.approx((0.5 + 0.6 + 0.3) / 3)


def test_wider_windows_find_slower_drops() -> None:
    slow = [[0.9], [0.7], [0.5], [0.3]]
    assert [windowed_forgetting(slow, w) for w in (2, 3, 4, 100)] == pytest.approx([0.2, 0.4, 0.6, 0.6])
    assert windowed_plasticity(slow, 100) == 0.0


def test_min_accuracy_ignores_evaluations_within_the_task_itself() -> None:
    assert min_accuracy(evaluation_rows([[0.1, 0.0], [0.9, 0.5]], [0, 1])) == pytest.approx(0.9)


def test_single_task() -> None:
    assert math.isnan(min_accuracy(evaluation_rows([[0.4]], [0])))
    assert worst_case_accuracy(evaluation_rows([[0.4], [0.6]], [0, 0])) == 0.6
    assert math.isnan(worst_case_accuracy(evaluation_rows(np.zeros((0, 2)), np.zeros(0, int))))


@given(hnp.arrays(np.float64, (8, 3), elements=st.floats(0, 1)), st.integers(2, 9))
def test_windows_against_all_pairs(table: np.ndarray, window: int) -> None:
    drops = [
        max(0.0, *(column[m] - column[n] for m in range(8) for n in range(m + 1, min(8, m + window))))
        for column in table.T
    ]
    assert windowed_forgetting(table, window) == pytest.approx(np.mean(drops))
    assert windowed_plasticity(table, window) == pytest.approx(windowed_forgetting(table[::-1], window))


@given(hnp.arrays(np.float64, (9, 3), elements=st.floats(0, 1)))
def test_worst_case_is_at_most_the_final_accuracy(table: np.ndarray) -> None:
    learning = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert 0 <= worst_case_accuracy(evaluation_rows(table, learning)) <= table[-1].mean() + 1e-12


def test_constant_accuracy_has_no_stability_gap() -> None:
    constant = np.ones((6, 3))
    assert (
        min_accuracy(evaluation_rows(constant, LEARNING))
        == worst_case_accuracy(evaluation_rows(constant, LEARNING))
        == 1.0
    )
    assert windowed_forgetting(constant, 3) == 0.0


def test_learning_curve_area_worked_by_hand() -> None:
    """Two batches count, so three points: Z_0 = 0.2, Z_1 = 0.5, Z_2 = 0.8."""
    curves = [[0.1, 0.4, 0.7, 1.0], [0.3, 0.6, 0.9, 1.0]]
    assert learning_curve_area(curves, n_batches=2) == pytest.approx((0.2 + 0.5 + 0.8) / 3)
    assert learning_curve_area(curves, n_batches=0) == pytest.approx(0.2), "accuracy before the first batch"
    assert learning_curve_area(curves, n_batches=3) == pytest.approx((0.2 + 0.5 + 0.8 + 1.0) / 4)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: windowed_forgetting(WORKED, 1), "window is 1"),
        (lambda: min_accuracy(evaluation_rows(WORKED, [0])), "a task number for each of 6 rows"),
        (lambda: min_accuracy(evaluation_rows(WORKED, [0.0] * 6)), "a task number"),
        (lambda: min_accuracy(evaluation_rows(WORKED, [0, 0, 1, 0, 2, 2])), "earlier task"),
        (lambda: min_accuracy(evaluation_rows(WORKED, [0, 0, 1, 1, 2, 3])), "there are 3"),
        (lambda: windowed_plasticity([0.1, 0.2], 2), "two dimensions"),
        (lambda: learning_curve_area([[0.1, 0.2]]), "allow 0 to 1"),
    ],
)
def test_bad_input_is_refused(call: object, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        call()  # type: ignore[operator]
