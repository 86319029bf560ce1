"""What several seeds say about one number."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import FloatArray, rng_at


@dataclass(frozen=True)
class Interval:
    """A mean and where the true mean is believed to lie.

    Attributes:
        mean: the mean of what was measured.
        low: the lower end; NaN if there was only one measurement.
        high: the upper end, likewise.
        n: how many measurements.

    Example:
        >>> print(mean_interval([0.90, 0.92, 0.94]))
        0.920 [0.870, 0.970]
    """

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        if self.n == 1:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def half_width(self) -> float:
        """Half the way from end to end, for error bars."""
        return (self.high - self.low) / 2


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """The mean with Student's confidence interval, for a handful of seeds.

    Example:
        >>> print(mean_interval([1.0, 3.0], level=0.5))
        2.000 [1.000, 3.000]
    """
    sample = _sample(values, level)
    mean, n = math.fsum(sample) / len(sample), len(sample)
    if n == 1:
        return Interval(mean, math.nan, math.nan, 1)
    margin = student_quantile((1 + level) / 2, n - 1) * float(sample.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - margin, mean + margin, n)


def bootstrap_interval(
    values: npt.ArrayLike, level: float = 0.95, *, seed: int = 0, n_resamples: int = 10_000
) -> Interval:
    """The mean with a percentile bootstrap interval: assumes no bell curve, but wants ten seeds or more.

    Example:
        >>> bootstrap_interval([0.5, 0.5, 0.5])
        Interval(mean=0.5, low=0.5, high=0.5, n=3)
    """
    sample = _sample(values, level)
    n = len(sample)
    if n == 1:
        return Interval(float(sample[0]), math.nan, math.nan, 1)
    rows = rng_at(seed, "bootstrap", n).integers(n_resamples * n, n).reshape(n_resamples, n)
    low, high = np.quantile(sample[rows].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return Interval(math.fsum(sample) / n, float(low), float(high), n)


def wilson_interval(n_hits: int, n: int, level: float = 0.95) -> Interval:
    """The share of hits with Wilson's interval, which stays between 0 and 1 and is honest near both.

    Example:
        >>> print(wilson_interval(10, 10))
        1.000 [0.722, 1.000]

    Reference: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if not 0 <= n_hits <= n or n < 1:
        raise BadInput(f"{n_hits} hits in {n} trials have no share; give 0 to n hits in at least 1 trial")
    if not 0 < level < 1:
        raise BadInput(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    share, z = n_hits / n, NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # Rounding must not push an end past the share itself, which at 0 and 1 it equals.
    return Interval(share, max(0.0, min(share, centre - margin)), min(1.0, max(share, centre + margin)), n)


def student_quantile(p: float, freedom: int) -> float:
    """The number that a Student variable with whole degrees of freedom stays below with chance p.

    Example:
        >>> round(student_quantile(0.975, 9), 6)
        2.262157
    """
    if not 0 < p < 1 or freedom < 1:
        raise BadInput(f"p is {p} and freedom {freedom}; p must lie between 0 and 1, freedom be at least 1")
    if p < 0.5:
        return -student_quantile(1 - p, freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _central_chance(middle, freedom) < 2 * p - 1:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _central_chance(theta: float, freedom: int) -> float:
    """The chance that |t| < sqrt(freedom) tan(theta): a finite sum (Abramowitz and Stegun 26.7.3-4)."""
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
        raise BadInput("an interval needs a flat list of at least one number, all of them finite")
    if not 0 < level < 1:
        raise BadInput(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    return sample
