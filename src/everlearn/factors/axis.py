"""The values that one factor may take."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everlearn.chance import FloatArray, IntArray


@dataclass(frozen=True)
class Axis:
    """Some numbers, or every number of an interval.

    Both are segments (low, high): a single value is a segment of no width, and a part cut out of an
    interval leaves two segments. So one piece of code samples and cuts them all.

    Example:
        >>> Axis.values([0.5, 0.75, 1.0]).at([0.0, 0.5, 0.99])
        array([0.5 , 0.75, 1.  ])
        >>> Axis.interval(0, 10).without(2, 8).at([0.25, 0.75])
        array([1., 9.])
    """

    segments: tuple[tuple[float, float], ...]
    continuous: bool

    @classmethod
    def values(cls, numbers: Sequence[float]) -> "Axis":
        """Exactly these values, each as likely as the others."""
        return cls(tuple((float(v), float(v)) for v in numbers), continuous=False)

    @classmethod
    def interval(cls, low: float, high: float) -> "Axis":
        """Every number from low to high."""
        return cls(((float(low), float(high)),), continuous=True)

    def __len__(self) -> int:
        """How many values (of an interval: how many pieces)."""
        return len(self.segments)

    @property
    def measure(self) -> float:
        """The number of values, or the length of an interval."""
        return sum(high - low for low, high in self.segments) if self.continuous else float(len(self))

    @property
    def varies(self) -> bool:
        """Whether there is more than one value to choose from."""
        return self.continuous or len(self) > 1

    def pick(self, numbers: IntArray) -> FloatArray:
        """The values with these numbers, of an axis of single values."""
        return np.array([low for low, _ in self.segments])[numbers]

    def at(self, units: Sequence[float] | FloatArray) -> FloatArray:
        """The values at these fractions of the way along the axis; fractions lie in [0, 1)."""
        lows, highs = np.array(self.segments).T.reshape(2, -1)
        widths = highs - lows if self.continuous else np.ones(len(self))
        ends = np.cumsum(widths)
        way = np.asarray(units, dtype=np.float64) * ends[-1]
        piece = np.minimum(np.searchsorted(ends, way, side="right"), len(self) - 1)
        if not self.continuous:
            return np.asarray(lows[piece])
        return np.asarray(lows[piece] + (way - (ends - widths)[piece]))

    def elsewhere(self, units: FloatArray, jumps: FloatArray) -> FloatArray:
        """Fractions that lead to other values than these do: any other, or at least a quarter round.

        A single value has no other, and stays.
        """
        if self.continuous:
            return np.asarray((units + 0.25 + 0.5 * jumps) % 1.0)
        n = len(self)
        number = np.minimum(units * n, n - 1).astype(np.int64)
        step = 1 + np.minimum(jumps * (n - 1), n - 2).astype(np.int64)
        return np.asarray(((number + step) % n + 0.5) / n)

    def within(self, low: float, high: float) -> "Axis":
        """The part from low to high; of single values, both ends count."""
        return self._keeping([(max(a, low), min(b, high)) for a, b in self.segments])

    def without(self, low: float, high: float) -> "Axis":
        """Everything but the part from low to high."""
        if not self.continuous:
            return self._keeping([(a, b) for a, b in self.segments if not low <= a <= high])
        below = [(a, min(b, low)) for a, b in self.segments]
        above = [(max(a, high), b) for a, b in self.segments]
        return self._keeping(sorted(below + above))

    def _keeping(self, segments: list[tuple[float, float]]) -> "Axis":
        kept = tuple((a, b) for a, b in segments if a < b or (a == b and not self.continuous))
        return Axis(kept, self.continuous)
