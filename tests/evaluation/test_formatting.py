import pytest

from everlearn.evaluation import Interval
from everlearn.evaluation.formatting import (
    bar,
    format_amount,
    format_bytes,
    format_duration,
    format_error,
    format_score,
)


@pytest.mark.parametrize(
    ("value", "text"),
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
def test_amounts(value: float, text: str) -> None:
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0.0 s"), (9.94, "9.9 s"), (59, "59 s"), (60, "1.0 min"), (3600, "1.0 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_no_number_is_a_dash() -> None:
    for form in (format_score, format_error, format_amount, format_duration):
        assert form(None) == "–"


def test_no_negative_zero() -> None:
    assert format_score(-0.0001) == "0.000"
    assert format_score(-0.25) == "-0.250"


def test_bar_has_the_length_of_the_mean() -> None:
    assert bar(Interval(0.5, 0.4, 0.6, n=3), format_score) == (0.5, "0.500 ±0.100")
    assert bar(None, format_score) == (0.0, "–")
