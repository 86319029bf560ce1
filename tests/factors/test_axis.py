import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from everlearn.factors import Axis

finite = st.floats(-10, 10)


def test_single_values_are_equally_likely():
    axis = Axis.values([3.0, 1.0, 2.0])
    assert axis.at((np.arange(9) + 0.5) / 9).tolist() == [3, 3, 3, 1, 1, 1, 2, 2, 2]
    assert axis.measure == 3


def test_an_interval_is_sampled_evenly():
    axis = Axis.interval(2, 4)
    assert axis.at([0.0, 0.25, 0.5]).tolist() == [2.0, 2.5, 3.0]
    assert axis.at([np.nextafter(1, 0)])[0] <= 4


@given(finite, finite, finite, finite, st.lists(st.floats(0, 0.999), min_size=1, max_size=20))
def test_within_and_without_divide_an_interval(low, high, cut_low, cut_high, units):
    assume(low < high - 1e-3 and cut_low <= cut_high)
    axis = Axis.interval(low, high)
    inside, outside = axis.within(cut_low, cut_high), axis.without(cut_low, cut_high)
    assert inside.measure + outside.measure == pytest.approx(axis.measure)
    if inside.segments:
        values = inside.at(units)
        assert ((values >= max(low, cut_low)) & (values <= min(high, cut_high))).all()
    if outside.segments:
        values = outside.at(units)
        assert ((values <= cut_low) | (values >= cut_high)).all()
        assert ((values >= low) & (values <= high)).all()


@given(st.lists(finite, min_size=1, max_size=8, unique=True), finite, finite)
def test_within_and_without_divide_values(values, low, high):
    axis = Axis.values(values)
    inside = [a for a, _ in axis.within(low, high).segments]
    outside = [a for a, _ in axis.without(low, high).segments]
    assert sorted(inside + outside) == sorted(values)
    assert inside == [v for v in values if low <= v <= high]


def test_what_varies():
    assert Axis.interval(0, 1).varies
    assert Axis.values([1, 2]).varies
    assert not Axis.values([1]).varies
