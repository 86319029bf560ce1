"""Means over seeds with confidence intervals: Student, bootstrap and Wilson."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import FloatArray, rng_at

if TYPE_CHECKING:
    from everlearn.plotting.axes import PlotSeries

LEVEL = 0.95
"""Default confidence level."""
MIN_FOR_INTERVAL = 5
"""Fewer values are described by their standard deviation or range; their interval would be very wide."""
UNBOUNDED, NOT_NEGATIVE, UNIT, SIGNED_UNIT = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0), (-1.0, 1.0)
"""Ranges of possible values: any number, errors and costs, accuracies, differences of accuracies."""

Bounds = tuple[float, float]
Curve = Mapping[float, float]
"""Measured values (y) by the x at which they were measured."""


@dataclass(frozen=True)
class Interval:
    """A mean of n values with the bounds of its confidence interval, which are NaN for a single value.

    Example:
        >>> print(Interval(mean=0.5, low=0.45, high=0.55, n=5), "and", Interval.point(0.7))
        0.500 [0.450, 0.550] and 0.700
    """

    mean: float
    low: float
    high: float
    n: int
    std: float = math.nan  # of the values, if it is known

    def __str__(self) -> str:
        return f"{self.mean:.3f}" + (f" [{self.low:.3f}, {self.high:.3f}]" if self.n > 1 else "")

    @classmethod
    def point(cls, value: float) -> "Interval":
        """A single value without an interval."""
        return cls(value, math.nan, math.nan, 1)

    @property
    def half_width(self) -> float:
        """Half of the width, for error bars."""
        return (self.high - self.low) / 2

    @property
    def margin(self) -> float:
        """The number after ± in tables: the deviation of fewer than 5 values, else the half-width."""
        return self.std if self.n < MIN_FOR_INTERVAL and not math.isnan(self.std) else self.half_width


def mean_interval(values: npt.ArrayLike, level: float = LEVEL, *, bounds: Bounds = UNBOUNDED) -> Interval:
    """Mean with Student's confidence interval, for small samples; the interval ends at the bounds.

    Example:
        >>> print(mean_interval([0.90, 0.92, 0.94]), mean_interval([0.9, 1.0], bounds=UNIT))
        0.920 [0.870, 0.970] 0.950 [0.315, 1.000]
    """
    sample = _sample(values, level)
    mean, n = math.fsum(sample) / len(sample), len(sample)
    if n == 1:
        return Interval.point(mean)
    std = float(sample.std(ddof=1))
    margin = student_quantile((1 + level) / 2, n - 1) * std / math.sqrt(n)
    low, high = max(mean - margin, bounds[0]), min(mean + margin, bounds[1])
    return Interval(mean, low, high, n, std)


def interval_over(values: Sequence[float], bounds: Bounds = UNBOUNDED) -> Interval | None:
    """Student's interval of the values that are not NaN; None if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return mean_interval(known, bounds=bounds) if known else None


def mean_series(curves: Sequence[Curve], bounds: Bounds = UNBOUNDED) -> "PlotSeries":
    """Pointwise mean of several curves; x are all points that occur in a curve.

    The band is Student's interval of five curves or more, and the range of fewer.
    """
    from everlearn.plotting.axes import PlotSeries  # most runs plot nothing

    x = sorted({point for curve in curves for point in curve})
    table = np.array([curve.get(point, math.nan) for curve in curves for point in x], np.float64)
    table = table.reshape(len(curves), len(x))
    is_known = ~np.isnan(table)
    n = is_known.sum(axis=0)
    mean = np.where(n > 0, np.where(is_known, table, 0).sum(axis=0) / np.maximum(n, 1), np.nan)
    squares = np.where(is_known, (table - mean) ** 2, 0).sum(axis=0)
    margin = np.array([_margin_factor(int(k)) for k in n]) * np.sqrt(squares / np.maximum(n - 1, 1))
    low, high = np.maximum(mean - margin, bounds[0]), np.minimum(mean + margin, bounds[1])
    few = (n > 1) & (n < MIN_FOR_INTERVAL)
    if few.any():
        low[few], high[few] = np.nanmin(table[:, few], axis=0), np.nanmax(table[:, few], axis=0)
    return PlotSeries(np.array(x, np.float64), mean, low, high)


@cache
def _margin_factor(n: int) -> float:
    """Margin of the mean of n values in units of their standard deviation."""
    return student_quantile((1 + LEVEL) / 2, n - 1) / math.sqrt(n) if n > 1 else math.nan


def bootstrap_interval(
    values: npt.ArrayLike, level: float = LEVEL, *, seed: int = 0, n_resamples: int = 10_000
) -> Interval:
    """Mean with a percentile bootstrap interval: assumes no distribution, but needs ten values or more.

    Example:
        >>> print(bootstrap_interval([0.5, 0.5, 0.5]))
        0.500 [0.500, 0.500]
    """
    sample = _sample(values, level)
    n = len(sample)
    if n == 1:
        return Interval.point(float(sample[0]))
    rows = rng_at(seed, "bootstrap", n).integers(n_resamples * n, n).reshape(n_resamples, n)
    low, high = np.quantile(sample[rows].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return Interval(math.fsum(sample) / n, float(low), float(high), n)


def wilson_interval(n_hits: int, n: int, level: float = LEVEL) -> Interval:
    """Proportion with Wilson's score interval, which stays within [0, 1] and is accurate near both ends.

    Example:
        >>> print(wilson_interval(10, 10))
        1.000 [0.722, 1.000]

    Reference: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if not 0 <= n_hits <= n or n < 1:
        raise BadInput(f"{n_hits} hits in {n} trials is no proportion; give 0 to n hits in at least 1 trial")
    _check_level(level)
    share, z = n_hits / n, NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # Rounding must not move a bound past the proportion itself.
    return Interval(share, max(0.0, min(share, centre - margin)), min(1.0, max(share, centre + margin)), n)


def student_quantile(p: float, freedom: int) -> float:
    """The p-quantile of Student's t distribution with integer degrees of freedom."""
    if not 0 < p < 1 or freedom < 1:
        raise BadInput(f"p is {p} and freedom {freedom}; p must lie between 0 and 1, freedom be at least 1")
    if p < 0.5:
        return -student_quantile(1 - p, freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _central_probability(middle, freedom) < 2 * p - 1:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _central_probability(theta: float, freedom: int) -> float:
    """P(|t| < sqrt(freedom) tan(theta)) as a finite sum (Abramowitz and Stegun 26.7.3-4)."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine**2 * k / (k + 1)
    return 2 / math.pi * (theta + sine * total) if odd else sine * total


def _sample(values: npt.ArrayLike, level: float) -> FloatArray:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
        raise BadInput("an interval needs a flat list of at least one finite number")
    _check_level(level)
    return sample


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise BadInput(f"level is {level}; it must lie between 0 and 1, such as 0.95")
