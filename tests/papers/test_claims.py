"""Checks that papers share: each holds for numbers that show it, and fails for numbers that do not."""

import math

import pytest

from everlearn.papers.claims import (
    RunMetric,
    above_next,
    as_high_as,
    at_least,
    at_most,
    at_most_half,
)
from everlearn.papers.experiment import Check
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

from .helpers import NO_RECORD, group

VALUE = RunMetric("value", lambda run: run.seconds)
Seeds = tuple[float, ...]


def groups(*series: Seeds) -> dict[str, Group]:
    """Series a, b, ... with a value for each seed."""
    runs = ((RunResults(NO_RECORD, (), value) for value in values) for values in series)
    return dict(zip("abc", map(group, runs), strict=False))


@pytest.mark.parametrize(
    ("check", "series", "holds"),
    [
        (above_next(VALUE, by=0.05), ((0.61, 0.60, 0.62), (0.50, 0.51, 0.50)), True),
        (above_next(VALUE, by=0.05), ((0.90, 0.50, 0.61), (0.50, 0.51, 0.50)), False),  # within the interval
        (above_next(VALUE, by=0.05), ((0.54, 0.53, 0.54), (0.50, 0.50, 0.50)), False),  # less than 0.05
        (above_next(VALUE), ((0.40, 0.41, 0.40), (0.50, 0.50, 0.51)), False),
        (above_next(VALUE), ((0.6,), (0.5,)), True),  # marked as one seed
        (above_next(VALUE), ((math.nan, math.nan), (0.5, 0.5)), False),
        (above_next(VALUE), ((0.9, 0.9), (0.5, 0.5), (0.6, 0.6)), False),
        (above_next(VALUE), ((0.5,), (0.5,)), False),
        (above_next(VALUE), ((0.9, 0.1, 0.1), (0.1, 0.1, 0.1)), False),
        (as_high_as(VALUE, within=0.03), ((0.60, 0.59, 0.61), (0.60, 0.60, 0.60)), True),
        (as_high_as(VALUE, within=0.03), ((0.60, 0.55, 0.65), (0.60, 0.60, 0.60)), False),  # not known
        (as_high_as(VALUE, within=0.03), ((0.50, 0.51, 0.50), (0.60, 0.60, 0.60)), False),
        (at_least(VALUE, 0.886), ((0.88, 0.90),), True),
        (at_least(VALUE, 0.886), ((0.88,),), False),
        (at_most(VALUE, 0.054), ((0.04, 0.06),), True),
        (at_most(VALUE, 0.054), ((0.06,),), False),
        (at_most(VALUE, 0.054), ((math.nan,),), False),
        (at_most_half(VALUE), ((0.05, 0.06, 0.05), (0.2, 0.22, 0.2)), True),
        (at_most_half(VALUE), ((0.05, 0.06), (0.2, 0.3)), False),  # within the interval
        (at_most_half(VALUE), ((0.2, 0.2), (0.2, 0.3)), False),
        (at_most_half(VALUE), ((0.0, 0.0), (0.0, 0.0)), None),  # nothing to halve
        (at_most_half(VALUE), ((-0.5, -0.5), (-0.3, -0.3)), None),  # the baseline gains
        (at_most_half(VALUE), ((0.05, 0.06), (0.2, -0.1)), False),  # the baseline may gain
        (at_most_half(VALUE), ((math.nan,), (0.1,)), False),
    ],
)
def test_verdicts(check: Check, series: tuple[Seeds, ...], holds: bool | None) -> None:
    assert check(groups(*series)).holds is holds


def test_differences_are_paired_by_seeds() -> None:
    a, b = groups((0.6, 0.9), (0.5, 0.5)).values()
    b.runs[0].__dict__["seeds"] = (1, 1)
    b.runs[1].__dict__["seeds"] = (2, 2)
    gap = VALUE.difference(a, b)
    assert gap is not None
    assert (gap.mean, gap.n) == (pytest.approx(0.4), 1)


@pytest.mark.parametrize(
    ("check", "series", "observed"),
    [
        (
            above_next(VALUE),
            ((0.9, 0.9), (0.5, 0.5), (0.1, 0.1)),
            "value: a 0.900 ±0.000, b 0.500 ±0.000, c 0.100 ±0.000; "
            "paired difference 0.400 [0.400, 0.400], 0.400 [0.400, 0.400]",
        ),
        (
            above_next(VALUE),
            ((0.6,), (0.5, 0.4)),
            "value: a 0.600, b 0.450 ±0.071; paired difference 0.100",
        ),
        (at_most(VALUE, 0.7), ((0.6,),), "value: a 0.600"),
    ],
)
def test_observed_values_and_differences(check: Check, series: tuple[Seeds, ...], observed: str) -> None:
    assert check(groups(*series))[:2] == (True, observed)


@pytest.mark.parametrize(
    ("check", "series", "mark"),
    [
        (above_next(VALUE), ((0.6,), (0.5, 0.5)), "one seed"),
        (above_next(VALUE), ((0.4,), (0.5, 0.5)), "one seed"),
        (above_next(VALUE, by=0.2), ((0.6,), (0.5,)), "one seed"),
        (above_next(VALUE), ((0.6, 0.6), (0.5, 0.5)), "yes"),
        (above_next(VALUE), ((0.6, 0.6), (0.6, 0.5)), "no"),
        (as_high_as(VALUE, within=0.03), ((0.6,), (0.5,)), "one seed"),
        (at_most_half(VALUE), ((0.1,), (0.9,)), "one seed"),
        (at_most_half(VALUE), ((math.nan,), (0.9,)), "no"),
        (at_most_half(VALUE), ((-0.5,), (-0.3,)), "not comparable"),
        (at_least(VALUE, 0.5), ((0.6,),), "one seed"),
    ],
)
def test_a_single_seed_is_neither_yes_nor_no(check: Check, series: tuple[Seeds, ...], mark: str) -> None:
    assert check(groups(*series)).mark == mark
