"""Formatting of numbers as text, with their margin (see `LEGEND`); a dash for None."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from everlearn.evaluation.intervals import Interval

if TYPE_CHECKING:
    from everlearn.plotting.axes import Bar

DASH = "–"
LEGEND = (
    "±: standard deviation over seeds if there are fewer than 5 of them, else half of Student's 95 % "
    "confidence interval of the mean"
)
PREFIXES = ("", "k", "M", "G", "T", "P", "E")

Number = Interval | float | None
Format = Callable[[Number], str]


def format_score(number: Number) -> str:
    """A score between 0 and 1, or a difference of scores, with three decimals.

    Example:
        >>> format_score(Interval(0.92, 0.87, 0.97, n=3)), format_score(0.5), format_score(None)
        ('0.920 ±0.050', '0.500', '–')
    """
    interval = _interval(number)
    if interval is None:
        return DASH
    mean = round(interval.mean, 3) + 0.0  # no "-0.000"
    return f"{mean:.3f}{_margin(interval, 3)}"


def format_error(number: Number) -> str:
    """A small number with two significant digits.

    Example:
        >>> format_error(0.00347), format_error(Interval(0.0123, 0.01, 0.0146, n=2))
        ('0.0035', '0.012 ±0.002')
    """
    interval = _interval(number)
    if interval is None:
        return DASH
    decimals = max(0, 1 - math.floor(math.log10(abs(interval.mean) or 1)))
    return f"{interval.mean:.{decimals}f}{_margin(interval, decimals)}"


def format_amount(number: Number, unit: str = "") -> str:
    """A large number with three digits and an SI prefix, without its interval.

    Example:
        >>> format_amount(36_000), format_amount(Interval(2.5e6, 2e6, 3e6, n=2), "B")
        ('36.0 k', '2.50 MB')
    """
    interval = _interval(number)
    if interval is None:
        return DASH
    value, power = interval.mean, 0
    while value >= 999.5 and power + 1 < len(PREFIXES):
        value, power = value / 1000, power + 1
    digits = 0 if power == 0 and value == int(value) else max(0, 2 - int(math.log10(max(value, 1))))
    return f"{value:.{digits}f} {PREFIXES[power]}{unit}".rstrip()


def format_bytes(number: Number) -> str:
    """A number of bytes."""
    return format_amount(number, "B")


def format_duration(number: Number) -> str:
    """Seconds, minutes, hours or days, without the interval.

    Example:
        >>> [format_duration(seconds) for seconds in (0.25, 42.0, 90.0, 7260.0, 2e5)]
        ['0.2 s', '42 s', '1.5 min', '2.0 h', '2.3 d']
    """
    interval = _interval(number)
    if interval is None:
        return DASH
    value, unit = interval.mean, "s"
    for size, larger in ((60, "min"), (60, "h"), (24, "d")):
        if value >= size:
            value, unit = value / size, larger
        else:
            break
    return f"{value:.{0 if unit == 's' and value >= 10 else 1}f} {unit}"


def bar(number: Number, form: Format) -> "Bar":
    """A bar as long as a number, labelled with it."""
    from everlearn.plotting.axes import Bar  # most runs plot nothing

    interval = _interval(number)
    return Bar(0.0 if interval is None else interval.mean, form(interval))


def _interval(number: Number) -> Interval | None:
    return Interval.point(number) if isinstance(number, int | float) else number


def _margin(interval: Interval, decimals: int) -> str:
    return f" ±{interval.margin:.{decimals}f}" if interval.n > 1 else ""
