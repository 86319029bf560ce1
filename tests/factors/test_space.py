from itertools import product
from math import pi

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Axis, Factors, FactorSpace
from everlearn.rng import rng_at

finite = st.floats(-10, 10)


def test_discrete_values_are_equally_likely():
    axis = Axis.values([3.0, 1.0, 2.0])
    assert axis.at((np.arange(9) + 0.5) / 9).tolist() == [3, 3, 3, 1, 1, 1, 2, 2, 2]
    assert axis.measure == 3


def test_interval_is_sampled_uniformly():
    axis = Axis.interval(2, 4)
    assert axis.at([0.0, 0.25, 0.5]).tolist() == [2.0, 2.5, 3.0]
    assert axis.at([np.nextafter(1, 0)])[0] <= 4


@settings(max_examples=50)
@given(finite, finite, finite, finite, st.lists(st.floats(0, 0.999), min_size=1, max_size=20))
def test_inside_and_outside_partition_an_interval(low, high, cut_low, cut_high, units):
    assume(low < high - 1e-3 and cut_low <= cut_high)
    axis = Axis.interval(low, high)
    inside, outside = axis.inside(cut_low, cut_high), axis.outside(cut_low, cut_high)
    assert inside.measure + outside.measure == pytest.approx(axis.measure)
    if inside.segments:
        values = inside.at(units)
        assert ((values >= max(low, cut_low)) & (values <= min(high, cut_high))).all()
    if outside.segments:
        values = outside.at(units)
        assert ((values <= cut_low) | (values >= cut_high)).all()
        assert ((values >= low) & (values <= high)).all()


@settings(max_examples=50)
@given(st.lists(finite, min_size=1, max_size=8, unique=True), finite, finite)
def test_inside_and_outside_partition_discrete_values(values, low, high):
    axis = Axis.values(values)
    inside = [a for a, _ in axis.inside(low, high).segments]
    outside = [a for a, _ in axis.outside(low, high).segments]
    assert sorted(inside + outside) == sorted(values)
    assert inside == [v for v in values if low <= v <= high]


def test_default_grid_is_that_of_the_paper():
    space = FactorSpace()
    factors = space.combination(np.arange(625))
    assert space.size == 625
    assert np.unique(factors.scale).tolist() == [0.5, 0.625, 0.75, 0.875, 1.0]
    np.testing.assert_allclose(np.unique(factors.angle), np.linspace(0, 2 * pi * 5 / 6, 5))
    assert np.unique(factors.x).tolist() == np.unique(factors.y).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert (factors.colour == 1).all()
    assert len(np.unique(factors.array(), axis=0)) == 625


def test_combinations_are_in_row_major_order():
    lists = {"scale": [0.5, 1.0], "angle": [0.0, 1.0, 2.0], "x": [0.2], "y": [0.1, 0.9]}
    factors = FactorSpace(**lists).combination(np.arange(12))
    assert [tuple(row) for row in factors.array()] == list(product(*lists.values()))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
def test_angles_of_a_grid_are_distinct(n):
    angles = FactorSpace(angle=n, scale=1, x=1, y=1).combination(np.arange(n)).angle
    assert len(np.unique(np.exp(1j * angles).round(9))) == n


def test_numbers_of_values_may_be_numpy_integers():
    n = np.int64(2)
    assert FactorSpace(scale=n, angle=n, colour=n) == FactorSpace(scale=2, angle=2, colour=2)


def test_grid_of_one_is_canonical():
    assert FactorSpace(scale=1, angle=1, x=1, y=1).combination([0]) == Factors.canonical()


def test_colours():
    space = FactorSpace(scale=1, angle=1, x=1, y=1, colour=3)
    assert space.combination([0, 1, 2]).colour.tolist() == np.eye(3).tolist()
    pink = FactorSpace(scale=1, angle=1, x=1, y=1, colour=[(1.0, 0.5, 0.5), (0, 0, 0)])
    assert pink.combination([0]).colour.tolist() == [[1.0, 0.5, 0.5]]
    greens = FactorSpace(colour={"low": 0.3, "high": 0.4}).sample(rng_at(0, "t").uniform(50).reshape(10, 5))
    assert (greens.colour.argmax(axis=1) == 1).all()


def test_indices_inside_a_box():
    space = FactorSpace()
    box = {"scale": (0.8, 1.0), "x": (0.0, 0.25)}
    indices = space.indices_inside(box)
    inside = space.combination(indices)
    assert len(indices) == 2 * 5 * 2 * 5
    assert ((inside.scale >= 0.8) & (inside.x <= 0.25)).all()
    rest = space.combination(np.setdiff1d(np.arange(625), indices))
    assert not ((rest.scale >= 0.8) & (rest.x <= 0.25)).any()
    assert space.fraction(box) == pytest.approx(100 / 625)


def test_outside_is_the_complement_of_a_box():
    space = FactorSpace(scale={"low": 0.5, "high": 1.0}, angle=4, x={"low": 0, "high": 1}, y=3)
    box = {"scale": (0.6, 0.8), "x": (0.5, 2.0), "y": (0.0, 0.1)}
    parts = space.outside(box)
    assert sum(fraction for fraction, _ in parts) + space.fraction(box) == pytest.approx(1)
    units = rng_at(0, "t").uniform(5000).reshape(1000, 5)
    for _, part in parts:
        assert not in_box(part.sample(units), box).any()
    assert in_box(space.inside(box).sample(units), box).all()


def in_box(factors, box):
    sides = [(getattr(factors, name) >= a) & (getattr(factors, name) <= b) for name, (a, b) in box.items()]
    return np.logical_and.reduce(sides)


def test_sample_covers_the_ranges():
    ranges = {"scale": (0.5, 1.0), "angle": (0.0, 6.0), "x": (0.1, 0.9), "y": (0.0, 1.0)}
    space = FactorSpace(**{name: {"low": a, "high": b} for name, (a, b) in ranges.items()})
    factors = space.sample(rng_at(0, "t").uniform(10_000).reshape(-1, 5))
    for name in FACTOR_NAMES:
        low, high = ranges[name]
        values = getattr(factors, name)
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() < high


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scale": 0}, "the number of scale values is 0"),
        ({"scale": []}, "scale is an empty list"),
        ({"scale": 5.0}, "scale is 5.0; give a number of values"),
        ({"scale": "big"}, "scale is b; it must be between"),
        ({"y": {"low": "a", "high": 1}}, "y.low is a; it must be between"),
        ({"colour": 0.5}, "colour is 0.5; give each colour as red, green and blue"),
        ({"scale": [0.5, 0.5]}, "give each value once"),
        ({"scale": [-1.0]}, "scale is -1.0; it must be between"),
        ({"x": [1.5]}, "x is 1.5; it must be between 0.0 and 1.0"),
        ({"angle": [0, 2 * pi]}, "0 and 2π are the same"),
        ({"angle": {"low": 0, "high": 7}}, "spans at most 2π"),
        ({"y": {"low": 0.5, "high": 0.5}}, "empty range"),
        ({"y": {"from": 0.5}}, "has the keys low and high"),
        ({"y": {"low": float("nan"), "high": 1}}, "y.low is nan"),
        ({"colour": 0}, "the number of colours is 0"),
        ({"colour": [(1, 1)]}, "red, green and blue"),
        ({"colour": [(1, 1, 2)]}, "from 0 to 1"),
        ({"colour": [(1, 1, 1), (1, 1, 1)]}, "each colour once"),
    ],
)
def test_invalid_values_are_rejected(values, message):
    with pytest.raises(BadInput, match=message):
        FactorSpace(**values)


def test_invalid_indices_and_boxes_are_rejected():
    with pytest.raises(BadInput, match="no combination 625"):
        FactorSpace().combination([625])
    with pytest.raises(BadInput, match="no combination -1"):
        FactorSpace().combination([-1, 5])
    with pytest.raises(BadInput, match="unknown factor 'scall'; did you mean 'scale'"):
        FactorSpace().inside({"scall": (0, 1)})
    with pytest.raises(BadInput, match="low must not be above high"):
        FactorSpace().fraction({"scale": (1, 0)})
    with pytest.raises(BadInput, match="use sample"):
        FactorSpace(x={"low": 0, "high": 1}).combination([0])
