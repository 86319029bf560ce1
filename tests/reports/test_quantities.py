import math

import pytest

from everlearn.evaluation import Interval
from everlearn.reports.formatting import amount, duration, share


def _sure(value: float) -> Interval:
    return Interval(value, math.nan, math.nan, 1)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 B"),
        (7, "7 B"),
        (0.5, "0.50 B"),
        (999, "999 B"),
        (999.6, "1.00 kB"),
        (1000, "1.00 kB"),
        (12_345, "12.3 kB"),
        (999_499, "999 kB"),
        (999_501, "1.00 MB"),
        (3.2e21, "3200 EB"),
    ],
)
def test_amounts(value: float, words: str) -> None:
    assert amount(_sure(value), "B") == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0.0 s"), (9.94, "9.9 s"), (59, "59 s"), (60, "1.0 min"), (3600, "1.0 h")]
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(_sure(seconds)) == words


def test_nothing_is_a_dash() -> None:
    assert share(None) == amount(None) == duration(None) == "–"


def test_no_minus_before_a_zero() -> None:
    assert share(_sure(-0.0001)) == "0.000"
    assert share(_sure(-0.25)) == "-0.250"
