"""Numbers as people read them; a dash where there is none."""

import math

from everlearn.evaluation import Interval

DASH = "–"
PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def exactly(value: float | None) -> Interval | None:
    """One number, about which nothing more is known."""
    return None if value is None else Interval(value, math.nan, math.nan, 1)


def share(interval: Interval | None) -> str:
    """An accuracy or another part of one, with how far it may be off.

    Example:
        >>> share(Interval(0.92, 0.87, 0.97, n=3)), share(None)
        ('0.920 ±0.050', '–')
    """
    if interval is None:
        return DASH
    mean = round(interval.mean, 3) + 0.0  # no minus before a zero
    return f"{mean:.3f}" + (f" ±{interval.half_width:.3f}" if interval.n > 1 else "")


def digits(interval: Interval | None) -> str:
    """A small number by its first two digits, with how far it may be off.

    Example:
        >>> digits(Interval(0.00347, math.nan, math.nan, n=1)), digits(Interval(0.0123, 0.01, 0.0146, n=2))
        ('0.0035', '0.012 ±0.002')
    """
    if interval is None:
        return DASH
    decimals = max(0, 1 - math.floor(math.log10(abs(interval.mean) or 1)))
    return f"{interval.mean:.{decimals}f}" + (
        f" ±{interval.half_width:.{decimals}f}" if interval.n > 1 else ""
    )


def amount(interval: Interval | None, unit: str = "") -> str:
    """A large number by its first digits.

    Example:
        >>> amount(Interval(36_000, math.nan, math.nan, n=1)), amount(Interval(2.5e6, 2e6, 3e6, n=2), "B")
        ('36.0 k', '2.50 MB')
    """
    if interval is None:
        return DASH
    value, power = interval.mean, 0
    while value >= 999.5 and power + 1 < len(PREFIXES):
        value, power = value / 1000, power + 1
    digits = 0 if power == 0 and value == int(value) else max(0, 2 - int(math.log10(max(value, 1))))
    return f"{value:.{digits}f} {PREFIXES[power]}{unit}".rstrip()


def duration(interval: Interval | None) -> str:
    """Seconds, minutes, hours or days.

    Example:
        >>> [duration(Interval(s, s, s, n=1)) for s in (0.25, 42.0, 90.0, 7260.0, 2e5)]
        ['0.2 s', '42 s', '1.5 min', '2.0 h', '2.3 d']
    """
    if interval is None:
        return DASH
    value, unit = interval.mean, "s"
    for size, larger in ((60, "min"), (60, "h"), (24, "d")):
        if value >= size:
            value, unit = value / size, larger
        else:
            break
    return f"{value:.{0 if unit == 's' and value >= 10 else 1}f} {unit}"
