import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.evaluation import (
    ScoreTable,
    accuracy_curve,
    angle_error,
    avalanche_forgetting,
    average_accuracy,
    average_incremental_accuracy,
    backward_transfer,
    factor_errors,
    factor_errors_per_image,
    forgetting,
    forward_transfer,
    intransigence,
)
from everlearn.factors import Factors

NAN = float("nan")
WORKED = np.array(
    [
        [0.9, 0.3, 0.1, 0.2],
        [0.7, 0.8, 0.4, 0.1],
        [0.8, 0.6, 0.7, 0.3],
        [0.4, 0.9, 0.5, 1.0],
    ]
)
TABLES = (
    st.integers(2, 6)
    .flatmap(lambda n: hnp.arrays(np.float64, (n, n), elements=st.integers(0, 16)))
    .map(lambda table: table / 16)
)
ANGLES = st.floats(-20, 20)


def test_worked_by_hand() -> None:
    assert accuracy_curve(WORKED) == pytest.approx([0.9, 0.75, 0.7, 0.7])
    assert average_accuracy(WORKED) == pytest.approx(0.7)
    assert average_accuracy(WORKED, after=1) == pytest.approx(0.75)
    assert average_incremental_accuracy(WORKED) == pytest.approx((0.9 + 0.75 + 0.7 + 0.7) / 4)
    # From the best before: 0.9 -> 0.4, 0.8 -> 0.9, 0.7 -> 0.5.
    assert forgetting(WORKED) == pytest.approx((0.5 - 0.1 + 0.2) / 3)
    assert avalanche_forgetting(WORKED) == pytest.approx((0.5 - 0.1 + 0.2) / 3)
    assert backward_transfer(WORKED) == pytest.approx(-0.2)
    assert forward_transfer(WORKED, [0.1, 0.1, 0.2, 0.25]) == pytest.approx((0.2 + 0.2 + 0.05) / 3)
    assert intransigence(WORKED, [1.0, 0.9, 0.9, 0.9]) == pytest.approx((0.1 + 0.1 + 0.2 - 0.1) / 4)


def test_the_definitions_of_forgetting_differ_if_a_task_improved() -> None:
    table = [[0.5, NAN, NAN], [0.9, 0.6, NAN], [0.7, 0.6, 1.0]]
    assert forgetting(table) == pytest.approx(0.1)
    assert avalanche_forgetting(table) == pytest.approx(-0.1)


def test_evaluation_every_second_task() -> None:
    """Evaluated after tasks 1 and 3 only."""
    table = ScoreTable()
    table.add_row(1, {0: 0.8, 1: 0.6})
    table.add_row(3, {0: 0.5, 1: 0.5, 2: 0.7, 3: 0.9})
    assert accuracy_curve(table) == pytest.approx([NAN, 0.7, NAN, 0.65], nan_ok=True)
    assert average_incremental_accuracy(table) == pytest.approx(0.675)
    # Task 2 was not evaluated before the end, so its forgetting is unknown.
    assert forgetting(table) == pytest.approx((0.3 + 0.1) / 2)
    assert avalanche_forgetting(table) == pytest.approx((0.3 + 0.1) / 2)
    assert intransigence(table, np.ones(4)) == pytest.approx((0.4 + 0.1) / 2)
    assert math.isnan(forward_transfer(table, np.zeros(4)))


def test_metrics_of_one_task_and_of_none() -> None:
    for metric in (forgetting, avalanche_forgetting, backward_transfer):
        assert math.isnan(metric([[0.9]]))
    assert average_accuracy([[0.9]]) == 0.9
    for metric in (average_accuracy, average_incremental_accuracy, forgetting, avalanche_forgetting):
        assert math.isnan(metric(ScoreTable()))


def seen(n: int, value: object) -> np.ndarray:
    return np.where(np.tri(n, dtype=bool), value, np.nan)


def test_oracle_learners() -> None:
    n = 20
    perfect = seen(n, 1.0)
    assert (average_accuracy(perfect), forgetting(perfect), backward_transfer(perfect)) == (1.0, 0.0, 0.0)
    assert intransigence(perfect, np.ones(n)) == 0.0
    naive = np.where(np.eye(n, dtype=bool), 1.0, seen(n, 0.0))
    assert (average_accuracy(naive), forgetting(naive), backward_transfer(naive)) == (1 / n, 1.0, -1.0)
    constant = seen(n, 1 / n)  # always predicts the same class
    assert average_accuracy(constant) == pytest.approx(1 / n)
    assert forgetting(constant) == 0.0
    assert forward_transfer(np.full((n, n), 0.1), np.full(n, 0.1)) == 0.0
    shuffled = seen(n, np.random.Generator(np.random.Philox(0)).binomial(1000, 0.1, (n, n)) / 1000)
    assert average_accuracy(shuffled) == pytest.approx(0.1, abs=0.01)
    assert backward_transfer(shuffled) == pytest.approx(0.0, abs=0.01)
    assert 0 < forgetting(shuffled) < 0.03  # the maximum of many guesses is above the last


@given(TABLES)
def test_bounds_and_equal_results_for_arrays_and_score_tables(table: np.ndarray) -> None:
    assert 0 <= average_accuracy(table) <= 1
    assert 0 <= average_incremental_accuracy(table) <= 1
    assert -1 <= avalanche_forgetting(table) <= forgetting(table) <= 1
    assert backward_transfer(table) == -avalanche_forgetting(table)
    assert accuracy_curve(table[:-1, :-1]).tolist() == accuracy_curve(table)[:-1].tolist()
    stored = ScoreTable.from_array(table)
    for metric in (average_accuracy, average_incremental_accuracy, forgetting, avalanche_forgetting):
        assert metric(stored) == metric(table)
    assert forward_transfer(stored, table[0]) == forward_transfer(table, table[0])


@given(TABLES, st.randoms(use_true_random=False))
def test_order_of_earlier_tasks_does_not_matter(table: np.ndarray, random: object) -> None:
    order = list(range(len(table) - 1))
    random.shuffle(order)  # type: ignore[attr-defined]
    turned = table[:, [*order, len(table) - 1]]
    assert average_accuracy(turned) == average_accuracy(table)
    assert forgetting(turned) == forgetting(table)


@given(TABLES, st.data())
def test_metrics_follow_their_formulas_with_missing_scores(table: np.ndarray, data: st.DataObject) -> None:
    gaps = data.draw(hnp.arrays(np.bool_, table.shape))
    table = np.where(gaps, NAN, table)
    rows = [i for i in range(len(table)) if not gaps[i].all()]
    if not rows:
        return
    last = rows[-1]
    known = [j for j in range(last) if not gaps[last, j]]
    best = {j: max((table[i, j] for i in rows[:-1] if not gaps[i, j]), default=NAN) for j in known}
    fresh = {j: next((table[i, j] for i in rows[:-1] if i >= j and not gaps[i, j]), NAN) for j in known}
    chance = np.linspace(0, 1, len(table))
    assert forgetting(table) == approx_mean([best[j] - table[last, j] for j in known])
    assert avalanche_forgetting(table) == approx_mean([fresh[j] - table[last, j] for j in known])
    assert accuracy_curve(table) == pytest.approx(
        [float(approx_mean(table[i, : i + 1]).expected) for i in range(len(table))], nan_ok=True
    )
    assert forward_transfer(table, chance) == approx_mean(
        table[range(len(table) - 1), range(1, len(table))] - chance[1:]
    )
    assert intransigence(table, chance) == approx_mean(chance - np.diag(table))


def approx_mean(values: object) -> object:
    there = [value for value in list(values) if not math.isnan(value)]
    return pytest.approx(sum(there) / len(there) if there else NAN, nan_ok=True)


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no task 4"):
        average_accuracy(WORKED, after=4)
    with pytest.raises(BadInput, match="each of the 4 tasks"):
        forward_transfer(WORKED, [0.1])
    with pytest.raises(BadInput, match="each of the 4 tasks"):
        intransigence(WORKED, 0.9)
    with pytest.raises(BadInput, match="after i, on j"):
        forgetting([0.1, 0.2])


@given(ANGLES, ANGLES, st.integers(-3, 3))
def test_angle_error_is_circular(a: float, b: float, turns: int) -> None:
    error = float(angle_error(a, b))
    assert 0 <= error <= np.pi
    assert error == pytest.approx(float(angle_error(b, a)), abs=1e-9)
    assert error == pytest.approx(float(angle_error(a + 2 * np.pi * turns, b)), abs=1e-9)
    assert error == pytest.approx(float(np.arccos(np.clip(np.cos(a - b), -1, 1))), abs=1e-6)


def test_factor_errors_worked_by_hand() -> None:
    true = Factors(scale=[0.5, 2.0], angle=[0.0, 3.0], x=0.5, y=0.5)
    guess = Factors(scale=[1.0, 1.0], angle=[2 * np.pi, -3.0], x=[0.8, 0.5], y=[0.9, 0.5])
    each = factor_errors_per_image(guess, true)
    assert each["scale"] == pytest.approx([1.0, 0.5])
    assert each["angle"] == pytest.approx([0.0, 2 * np.pi - 6.0])
    assert each["position"] == pytest.approx([0.5, 0.0])
    mean = {"scale": 0.75, "angle": np.pi - 3, "x": 0.15, "y": 0.2, "position": 0.25}
    assert factor_errors(guess, true) == pytest.approx(mean)
    assert set(factor_errors(true, true).values()) == {0.0}
    with pytest.raises(BadInput, match="1 estimates for 2 images"):
        factor_errors(Factors(), Factors(scale=[1.0, 1.0]))
    with pytest.raises(BadInput, match="at least one"):
        factor_errors(Factors(scale=[]), Factors(scale=[]))
