from everlearn.evaluation import Interval
from everlearn.evaluation.formatting import (
    bar,
    format_amount,
    format_bytes,
    format_duration,
    format_error,
    format_score,
)


def test_amounts_and_durations() -> None:
    amounts = {0: "0 B", 7: "7 B", 0.5: "0.50 B", 999: "999 B", 999.6: "1.00 kB", 12_345: "12.3 kB"}
    amounts |= {999_499: "999 kB", 999_501: "1.00 MB", 3.2e21: "3200 EB"}
    assert {value: format_bytes(value) for value in amounts} == amounts
    durations = {0: "0.0 s", 9.94: "9.9 s", 59: "59 s", 60: "1.0 min", 3600: "1.0 h"}
    assert {seconds: format_duration(seconds) for seconds in durations} == durations


def test_nan_is_a_dash_and_zero_has_no_sign() -> None:
    for form in (format_score, format_error, format_amount, format_duration):
        assert form(None) == "–"
    assert format_score(-0.0001) == "0.000"
    assert format_score(-0.25) == "-0.250"


def test_bar_has_the_length_of_the_mean() -> None:
    assert bar(Interval(0.5, 0.4, 0.6, n=3), format_score) == (0.5, "0.500 ±0.100")
    assert bar(None, format_score) == (0.0, "–")
