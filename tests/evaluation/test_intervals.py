import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.evaluation.intervals import (
    NOT_NEGATIVE,
    UNIT,
    bootstrap_interval,
    interval_over,
    mean_interval,
    mean_series,
    student_quantile,
    wilson_interval,
)
from everlearn.rng import rng_at

# From printed tables of Student's distribution.
KNOWN = {
    (0.975, 1): 12.7062, (0.975, 2): 4.3027, (0.975, 3): 3.1824, (0.975, 9): 2.2622, (0.975, 30): 2.0423,
    (0.95, 5): 2.0150, (0.995, 10): 3.1693, (0.9, 120): 1.2886, (0.5, 7): 0.0,
}  # fmt: skip


def test_quantiles_of_printed_tables() -> None:
    for (p, freedom), quantile in KNOWN.items():
        assert student_quantile(p, freedom) == pytest.approx(quantile, abs=6e-5)
        assert student_quantile(1 - p, freedom) == pytest.approx(-quantile, abs=6e-5)
    assert student_quantile(0.975, 100_000) == pytest.approx(1.959964, abs=1e-4), "as the normal distribution"


def test_quantiles_in_closed_form() -> None:
    for p in (0.6, 0.9, 0.999, 1 - 1e-7):
        assert student_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-7)
        assert student_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-7)


def test_worked_by_hand() -> None:
    interval = mean_interval([0.90, 0.92, 0.94])
    margin = 4.30265 * 0.02 / math.sqrt(3)
    assert (interval.mean, interval.n) == (pytest.approx(0.92), 3)
    assert (interval.low, interval.high) == pytest.approx((0.92 - margin, 0.92 + margin), abs=1e-6)
    assert interval.half_width == pytest.approx(margin, abs=1e-6)


def test_coverage() -> None:
    samples = rng_at(0, "coverage").normal(5 * 4000).reshape(4000, 5)
    covered = np.mean([abs(i.mean) <= i.half_width for i in map(mean_interval, samples)])
    assert covered == pytest.approx(0.95, abs=0.012)


def test_bootstrap_agrees_with_student_on_normal_samples() -> None:
    sample = rng_at(1, "bootstrap test").normal(40)
    student, bootstrap = mean_interval(sample), bootstrap_interval(sample)
    assert bootstrap.mean == student.mean
    assert bootstrap.half_width == pytest.approx(student.half_width, rel=0.1)
    assert bootstrap_interval(sample) == bootstrap
    assert bootstrap_interval(sample, seed=1) != bootstrap


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.floats(0.5, 0.98))
def test_interval_contains_the_mean_and_grows_with_the_level(values: list[float], level: float) -> None:
    interval, wider = mean_interval(values, level), mean_interval(values, level + 0.01)
    assert interval.low <= interval.mean <= interval.high
    assert wider.half_width >= interval.half_width
    assert mean_interval(values[::-1], level).mean == interval.mean


def test_single_value_has_no_interval() -> None:
    for interval in (mean_interval([0.5]), bootstrap_interval([0.5])):
        assert interval.mean == 0.5
        assert math.isnan(interval.low)
        assert str(interval) == "0.500"


def test_invalid_samples_levels_and_degrees_are_refused() -> None:
    for values in ([], [[1.0]], [1.0, float("nan")], [float("inf")]):
        for call in (mean_interval, bootstrap_interval):
            with pytest.raises(BadInput, match="flat list"):
                call(values)
    with pytest.raises(BadInput, match="level is 95"):
        mean_interval([1.0, 2.0], level=95)
    with pytest.raises(BadInput, match="freedom 0"):
        student_quantile(0.9, 0)


def test_wilson_intervals_of_the_literature() -> None:
    """81 of 263 is the example of Newcombe 1998, table I, method 3."""
    for n_hits, n, *bounds in ((0, 10, 0.0, 0.2775), (81, 263, 0.2553, 0.3662), (50, 100, 0.4038, 0.5962)):
        found = wilson_interval(n_hits, n)
        assert (found.mean, found.n) == (n_hits / n, n)
        assert [found.low, found.high] == pytest.approx(bounds, abs=1e-4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_contains_the_proportion(hits: tuple[int, int]) -> None:
    found, opposite = wilson_interval(*hits), wilson_interval(hits[1] - hits[0], hits[1])
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.low == pytest.approx(1 - opposite.high, abs=1e-12)


def test_invalid_proportions_are_refused() -> None:
    for n_hits, n, level in ((-1, 5, 0.95), (6, 5, 0.95), (0, 0, 0.95), (1, 2, 1.0)):
        with pytest.raises(BadInput):
            wilson_interval(n_hits, n, level)


def test_interval_over_ignores_nan() -> None:
    assert interval_over([1.0, math.nan, 3.0]) == mean_interval([1.0, 3.0])
    assert interval_over([math.nan]) is None


def test_mean_series_has_the_range_of_few_curves_and_the_interval_of_many() -> None:
    curves = [{1: 0.5, 2: 0.25}, {1: 0.75, 3: 1.0}, {1: 0.25}]
    series = mean_series(curves)
    assert series.x.tolist() == [1, 2, 3]
    assert series.mean == pytest.approx([0.5, 0.25, 1.0])
    assert (series.low[0], series.high[0]) == (0.25, 0.75)
    assert np.isnan([series.low[1:], series.high[1:]]).all(), "one value has no interval"
    assert [len(part) for part in mean_series([])] == [0] * 4
    values = [1.0, 1.0, 1.0, 1.0, 0.5]
    many, own = mean_series([{1: value} for value in values], UNIT), mean_interval(values, bounds=UNIT)
    assert (many.low[0], many.high[0]) == (pytest.approx(own.low), 1.0)


def test_intervals_end_at_what_is_possible() -> None:
    assert interval_over([0.9, 1.0], UNIT) == mean_interval([0.9, 1.0], bounds=UNIT)
    assert mean_interval([0.9, 1.0], bounds=UNIT).high == 1.0
    assert mean_interval([1.0, 20.0], bounds=NOT_NEGATIVE).low == 0.0


def test_margin_is_the_standard_deviation_of_few_values() -> None:
    few, many = [0.7, 0.9], [0.7, 0.9, 0.7, 0.9, 0.8]
    assert mean_interval(few).margin == pytest.approx(np.std(few, ddof=1))
    assert mean_interval(many).margin == mean_interval(many).half_width
