"""The forms of claims: each holds for numbers that show it, and fails for numbers that do not."""

import math

import pytest

from everlearn.papers.claims import Metric, above_next, at_least, at_most, at_most_half, not_below
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings

from .helpers import NO_RECORD, group, verdict

VALUE = Metric("value", lambda run: run.seconds)


def seeds(*values: float) -> Group:
    return group(Findings(NO_RECORD, (), value) for value in values)


@pytest.mark.parametrize(
    ("a", "b", "holds"),
    [
        ((0.61, 0.60, 0.62), (0.50, 0.51, 0.50), True),
        ((0.90, 0.50, 0.61), (0.50, 0.51, 0.50), False),  # within the confidence interval
        ((0.54, 0.53, 0.54), (0.50, 0.50, 0.50), False),  # less than 0.05
        ((0.40, 0.41, 0.40), (0.50, 0.50, 0.51), False),
        ((0.6,), (0.5,), False),  # no confidence interval
        ((math.nan, math.nan), (0.5, 0.5), False),
    ],
)
def test_above_next_needs_margin_and_confidence(a: list[float], b: list[float], holds: bool) -> None:
    assert verdict(above_next("", VALUE, "a", "b", by=0.05), a=seeds(*a), b=seeds(*b)).holds is holds


def test_above_next_holds_for_every_pair() -> None:
    claim = above_next("", VALUE, "a", "b", "c")
    a, b, c = seeds(0.9, 0.9), seeds(0.5, 0.5), seeds(0.1, 0.1)
    assert verdict(claim, a=a, b=b, c=c) == (
        True,
        "value: a 0.900 ±0.000, b 0.500 ±0.000, c 0.100 ±0.000; differences 0.400 ±0.000, 0.400 ±0.000",
    )
    assert not verdict(claim, a=a, b=c, c=b).holds


def test_above_next_accepts_a_single_seed_on_request() -> None:
    claim = above_next("", VALUE, "a", "b", single_seed=True)
    assert verdict(claim, a=seeds(0.6), b=seeds(0.5, 0.4)) == (
        True,
        "value: a 0.600, b 0.450 ±0.635; difference 0.100",
    )
    assert not verdict(claim, a=seeds(0.5), b=seeds(0.5)).holds
    assert not verdict(claim, a=seeds(0.9, 0.1, 0.1), b=seeds(0.1, 0.1, 0.1)).holds


def test_not_below_accepts_differences_within_the_confidence_interval() -> None:
    claim = not_below("", VALUE, "a", "b")
    assert verdict(claim, a=seeds(0.60, 0.59, 0.61), b=seeds(0.60, 0.61, 0.59)).holds
    assert not verdict(claim, a=seeds(0.50, 0.51, 0.50), b=seeds(0.60, 0.61, 0.60)).holds


def test_not_below_accepts_differences_within_a_tolerance() -> None:
    claim = not_below("", VALUE, "a", "b", within=0.03)
    assert verdict(claim, a=seeds(0.78), b=seeds(0.80)).holds
    assert not verdict(claim, a=seeds(0.70), b=seeds(0.80)).holds


def test_bounds_are_on_the_mean_over_seeds() -> None:
    lower, upper = at_least("", VALUE, "a", 0.886), at_most("", VALUE, "a", 0.054)
    assert verdict(lower, a=seeds(0.88, 0.90)).holds
    assert not verdict(lower, a=seeds(0.88)).holds
    assert verdict(upper, a=seeds(0.04, 0.06)).holds
    assert not verdict(upper, a=seeds(0.06)).holds
    assert verdict(lower, a=seeds(math.nan)) == (False, "value: a –")


def test_at_most_half_needs_a_positive_value_of_the_other() -> None:
    claim = at_most_half("", VALUE, "a", "b")
    assert verdict(claim, a=seeds(0.05, 0.06), b=seeds(0.2, 0.3)).holds
    assert not verdict(claim, a=seeds(0.2, 0.2), b=seeds(0.2, 0.3)).holds
    assert not verdict(claim, a=seeds(0.0, 0.0), b=seeds(0.2, 0.0)).holds
    assert not verdict(claim, a=seeds(math.nan), b=seeds(0.1)).holds
