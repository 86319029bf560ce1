from itertools import product
from math import pi

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors, FactorSpace
from everlearn.factors.space import hue_to_rgb
from everlearn.rng import rng_at


def test_the_default_grid_is_the_papers():
    space = FactorSpace()
    factors = space.combination(np.arange(625))
    assert space.size == 625
    assert np.unique(factors.scale).tolist() == [0.5, 0.625, 0.75, 0.875, 1.0]
    np.testing.assert_allclose(np.unique(factors.angle), np.linspace(0, 2 * pi * 5 / 6, 5))
    assert np.unique(factors.x).tolist() == np.unique(factors.y).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert (factors.colour == 1).all()
    assert len(np.unique(factors.array(), axis=0)) == 625


def test_combinations_are_numbered_like_nested_loops():
    lists = {"scale": [0.5, 1.0], "angle": [0.0, 1.0, 2.0], "x": [0.2], "y": [0.1, 0.9]}
    factors = FactorSpace(**lists).combination(np.arange(12))
    assert [tuple(row) for row in factors.array()] == list(product(*lists.values()))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
def test_no_turn_comes_twice(n):
    angles = FactorSpace(angle=n, scale=1, x=1, y=1).combination(np.arange(n)).angle
    turns = np.exp(1j * angles)
    assert len(np.unique(turns.round(9))) == n


def test_a_grid_of_one_is_canonical():
    assert FactorSpace(scale=1, angle=1, x=1, y=1).combination([0]) == Factors.canonical()


def test_colours():
    space = FactorSpace(scale=1, angle=1, x=1, y=1, colour=3)
    assert space.combination([0, 1, 2]).colour.tolist() == np.eye(3).tolist()
    pink = FactorSpace(scale=1, angle=1, x=1, y=1, colour=[(1.0, 0.5, 0.5), (0, 0, 0)])
    assert pink.combination([0]).colour.tolist() == [[1.0, 0.5, 0.5]]
    greens = FactorSpace(colour={"low": 0.3, "high": 0.4}).sample(rng_at(0, "t").uniform(50).reshape(10, 5))
    assert (greens.colour.argmax(axis=1) == 1).all()


def test_hues_go_round_the_wheel():
    wheel = hue_to_rgb(np.arange(6) / 6)
    assert wheel.round(9).tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1]]


def test_a_box_is_found_by_its_numbers():
    space = FactorSpace()
    box = {"scale": (0.8, 1.0), "x": (0.0, 0.25)}
    numbers = space.numbers_within(box)
    inside = space.combination(numbers)
    assert len(numbers) == 2 * 5 * 2 * 5
    assert ((inside.scale >= 0.8) & (inside.x <= 0.25)).all()
    rest = space.combination(np.setdiff1d(np.arange(625), numbers))
    assert not ((rest.scale >= 0.8) & (rest.x <= 0.25)).any()
    assert space.share(box) == pytest.approx(100 / 625)


def test_the_parts_around_a_box_make_up_the_rest():
    space = FactorSpace(scale={"low": 0.5, "high": 1.0}, angle=4, x={"low": 0, "high": 1}, y=3)
    box = {"scale": (0.6, 0.8), "x": (0.5, 2.0), "y": (0.0, 0.1)}
    parts = space.without(box)
    assert sum(share for share, _ in parts) + space.share(box) == pytest.approx(1)
    units = rng_at(0, "t").uniform(5000).reshape(1000, 5)
    for _, part in parts:
        assert not in_box(part.sample(units), box).any()
    assert in_box(space.within(box).sample(units), box).all()


def in_box(factors, box):
    sides = [(getattr(factors, name) >= a) & (getattr(factors, name) <= b) for name, (a, b) in box.items()]
    return np.logical_and.reduce(sides)


def test_sampling_fills_the_ranges():
    ranges = {"scale": (0.5, 1.0), "angle": (0.0, 6.0), "x": (0.1, 0.9), "y": (0.0, 1.0)}
    space = FactorSpace(**{name: {"low": a, "high": b} for name, (a, b) in ranges.items()})
    factors = space.sample(rng_at(0, "t").uniform(10_000).reshape(-1, 5))
    for name in FACTOR_NAMES:
        low, high = ranges[name]
        values = getattr(factors, name)
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() < high


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scale": 0}, "the number of scale values is 0"),
        ({"scale": []}, "scale is an empty list"),
        ({"scale": [0.5, 0.5]}, "give each value once"),
        ({"scale": [-1.0]}, "scale is -1.0; it must be between"),
        ({"x": [1.5]}, "x is 1.5; it must be between 0.0 and 1.0"),
        ({"angle": [0, 2 * pi]}, "0 and 2π are the same"),
        ({"angle": {"low": 0, "high": 7}}, "spans at most 2π"),
        ({"y": {"low": 0.5, "high": 0.5}}, "empty range"),
        ({"y": {"from": 0.5}}, "written with low and high"),
        ({"y": {"low": float("nan"), "high": 1}}, "y.low is nan"),
        ({"colour": 0}, "the number of colours is 0"),
        ({"colour": [(1, 1)]}, "red, green and blue"),
        ({"colour": [(1, 1, 2)]}, "from 0 to 1"),
        ({"colour": [(1, 1, 1), (1, 1, 1)]}, "each colour once"),
    ],
)
def test_impossible_spaces_are_refused(wrong, words):
    with pytest.raises(BadInput, match=words):
        FactorSpace(**wrong)


def test_impossible_questions_are_refused():
    with pytest.raises(BadInput, match="no combination 625"):
        FactorSpace().combination([625])
    with pytest.raises(BadInput, match="unknown factor 'scall'; did you mean 'scale'"):
        FactorSpace().within({"scall": (0, 1)})
    with pytest.raises(BadInput, match="low must not be above high"):
        FactorSpace().share({"scale": (1, 0)})
    with pytest.raises(BadInput, match="use sample"):
        FactorSpace(x={"low": 0, "high": 1}).combination([0])
