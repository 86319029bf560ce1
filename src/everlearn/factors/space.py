"""Factor spaces: the values of each factor and all their combinations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import pi, prod

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range, unknown
from everlearn.factors.factors import ALL_FACTORS, FACTOR_NAMES, WHITE, Factors, as_floats
from everlearn.rng import FloatArray, IntArray

CANONICAL = {"scale": 1.0, "angle": 0.0, "x": 0.5, "y": 0.5}
LIMITS = {"scale": (0.01, 4.0), "angle": (-100.0, 100.0), "x": (0.0, 1.0), "y": (0.0, 1.0)}
MAX_GRID = 1000

Box = Mapping[str, tuple[float, float]]
"""A part of a space: the lowest and the highest value of some factors."""


@dataclass(frozen=True)
class Axis:
    """The values of one factor: segments (low, high), which are intervals or, of width 0, discrete values.

    Example:
        >>> Axis.values([0.5, 1.0]).measure, Axis.interval(0.25, 1.0).measure
        (2.0, 0.75)
    """

    segments: tuple[tuple[float, float], ...]
    continuous: bool

    @classmethod
    def values(cls, numbers: Sequence[float]) -> "Axis":
        """Discrete values, equally likely."""
        return cls(tuple((float(v), float(v)) for v in numbers), continuous=False)

    @classmethod
    def interval(cls, low: float, high: float) -> "Axis":
        """All values from low to high, uniformly distributed."""
        return cls(((float(low), float(high)),), continuous=True)

    def __len__(self) -> int:
        """The number of segments."""
        return len(self.segments)

    @property
    def measure(self) -> float:
        """The number of values, or the length of all intervals."""
        return sum(high - low for low, high in self.segments) if self.continuous else float(len(self))

    @property
    def varies(self) -> bool:
        """Whether there is more than one value."""
        return self.continuous or len(self) > 1

    def take(self, indices: IntArray) -> FloatArray:
        """Discrete values by index."""
        return np.array([low for low, _ in self.segments])[indices]

    def at(self, units: Sequence[float] | FloatArray) -> FloatArray:
        """The values at these quantiles in [0, 1)."""
        lows, highs = np.array(self.segments).T
        widths = highs - lows if self.continuous else np.ones(len(self))
        ends = np.cumsum(widths)
        offsets = np.asarray(units, dtype=np.float64) * ends[-1]
        segment = np.minimum(np.searchsorted(ends, offsets, side="right"), len(self) - 1)
        if not self.continuous:
            return np.asarray(lows[segment])
        return np.asarray(lows[segment] + (offsets - (ends - widths)[segment]))

    def different(self, units: FloatArray, steps: FloatArray) -> FloatArray:
        """Quantiles of other values than those at `units`; on an interval at least a quarter away.

        The steps are uniform random numbers in [0, 1). An axis with a single value returns that value.
        """
        if self.continuous:
            return np.asarray((units + 0.25 + 0.5 * steps) % 1.0)
        n = len(self)
        index = np.minimum(units * n, n - 1).astype(np.int64)
        step = 1 + np.minimum(steps * (n - 1), n - 2).astype(np.int64)
        return np.asarray(((index + step) % n + 0.5) / n)

    def inside(self, low: float, high: float) -> "Axis":
        """The part from low to high, both included."""
        return self._with_segments([(max(a, low), min(b, high)) for a, b in self.segments])

    def outside(self, low: float, high: float) -> "Axis":
        """The complement of `inside`."""
        if not self.continuous:
            return self._with_segments([(a, b) for a, b in self.segments if not low <= a <= high])
        below = [(a, min(b, low)) for a, b in self.segments]
        above = [(max(a, high), b) for a, b in self.segments]
        return self._with_segments(sorted(below + above))

    def _with_segments(self, segments: list[tuple[float, float]]) -> "Axis":
        kept = tuple((a, b) for a, b in segments if a < b or (a == b and not self.continuous))
        return Axis(kept, self.continuous)


Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Colours:
    """A palette of colours or, without one, an interval of hues."""

    axis: Axis
    palette: tuple[Colour, ...] = ()

    @classmethod
    def from_rgb(cls, colours: Sequence[Sequence[float]]) -> "Colours":
        """A palette of RGB colours in 0..1."""
        levels = as_floats("colour", colours)
        if levels.ndim != 2 or levels.shape[1] != 3 or not ((levels >= 0) & (levels <= 1)).all():
            raise BadInput(f"colour is {colours!r}; give each colour as red, green and blue from 0 to 1")
        if len({tuple(colour) for colour in colours}) < len(colours):
            raise BadInput(f"colour is {colours!r}; give each colour once")
        return cls(Axis.values(range(len(colours))), tuple((c[0], c[1], c[2]) for c in colours))

    @classmethod
    def hues(cls, n: int) -> "Colours":
        """The saturated colours at n equal steps around the hue circle; a single one is white."""
        return cls.from_rgb([WHITE] if n == 1 else hue_to_rgb(np.arange(n) / n).tolist())

    def take(self, indices: IntArray) -> FloatArray:
        """Colours of the palette by index, (n, 3)."""
        return np.array(self.palette)[indices]

    def at(self, units: FloatArray) -> FloatArray:
        """The colours at these quantiles, (n, 3)."""
        values = self.axis.at(units)
        return self.take(values.astype(np.int64)) if self.palette else hue_to_rgb(values)


def hue_to_rgb(hue: FloatArray) -> FloatArray:
    """The saturated colours of hues: 0 red, 1/3 green, 2/3 blue, 1 red; (n, 3)."""
    distance = np.abs(6.0 * np.asarray(hue)[:, None] - np.array([3.0, 2.0, 4.0]))
    rising = np.array([-1.0, 2.0, 2.0]) + np.array([1.0, -1.0, -1.0]) * distance
    return np.asarray(np.clip(rising, 0.0, 1.0))


FactorValues = int | Sequence[float] | Mapping[str, float] | Axis
"""A number of grid values, a list of values, or {"low": ..., "high": ...} for a range."""
ColourValues = int | Sequence[Sequence[float]] | Mapping[str, float] | Colours
"""A number of hues (1 is white), a list of RGB colours in 0..1, or a range of hues within 0..1."""


@dataclass(frozen=True, init=False)
class FactorSpace:
    """The product of the values of all factors.

    A geometric factor is given as a number of grid values, a list of values, or a range
    {"low": ..., "high": ...}. A grid of one is the canonical value. A grid of n angles runs from 0 to
    n/(n+1) of a full rotation, so that no pose occurs twice. One colour is white; n colours are n hues.

    Example:
        >>> space = FactorSpace(scale=5, angle=5, x=[0.25, 0.75], y=1, colour=3)
        >>> space.size, space.combination([0, 149]).x
        (150, array([0.25, 0.75]))
    """

    scale: Axis
    angle: Axis
    x: Axis
    y: Axis
    colour: Colours

    def __init__(
        self,
        *,
        scale: FactorValues = 5,
        angle: FactorValues = 5,
        x: FactorValues = 5,
        y: FactorValues = 5,
        colour: ColourValues = 1,
    ) -> None:
        for name, values in zip(FACTOR_NAMES, (scale, angle, x, y), strict=True):
            object.__setattr__(self, name, _axis(name, values))
        object.__setattr__(self, "colour", _colours(colour))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of scale, angle, x, y and colour, in this order."""
        return (self.scale, self.angle, self.x, self.y, self.colour.axis)

    @property
    def size(self) -> int | None:
        """The number of combinations; None if a factor is a range."""
        return None if any(axis.continuous for axis in self.axes) else prod(map(len, self.axes))

    def combination(self, indices: npt.ArrayLike) -> Factors:
        """Combinations by index, 0 to size - 1; colour changes fastest, scale slowest."""
        which = np.asarray(indices, dtype=np.int64).reshape(-1)
        if self.size is None:
            raise BadInput("a range has no indexed combinations; use sample")
        if which.size and not 0 <= which.min() <= which.max() < self.size:
            wrong = which.min() if which.min() < 0 else which.max()
            raise BadInput(f"there is no combination {wrong}; they run from 0 to {self.size - 1}")
        by_axis = np.unravel_index(which, [len(axis) for axis in self.axes])
        pairs = zip(ALL_FACTORS, by_axis, strict=True)
        return Factors(**{name: getattr(self, name).take(i) for name, i in pairs})

    def sample(self, units: FloatArray) -> Factors:
        """The factors at quantiles (n, 5) in [0, 1) of scale, angle, x, y and colour."""
        return Factors(**{name: getattr(self, name).at(units[:, i]) for i, name in enumerate(ALL_FACTORS)})

    def indices_inside(self, box: Box) -> IntArray:
        """The indices of the combinations in a box, sorted."""
        inside = [np.ones(len(axis), dtype=bool) for axis in self.axes]
        for name, (low, high) in _check_box(box).items():
            values = getattr(self, name).take(slice(None))
            inside[FACTOR_NAMES.index(name)] = (values >= low) & (values <= high)
        return np.flatnonzero(reduce(np.logical_and.outer, inside))

    def fraction(self, box: Box) -> float:
        """The fraction of the space that lies in a box."""
        inner = self.inside(box)
        return prod(part.measure / whole.measure for part, whole in zip(inner.axes, self.axes, strict=True))

    def inside(self, box: Box) -> "FactorSpace":
        """The intersection with a box."""
        return self._with({name: getattr(self, name).inside(*side) for name, side in _check_box(box).items()})

    def outside(self, box: Box) -> list[tuple[float, "FactorSpace"]]:
        """The complement of a box as disjoint spaces, each with its fraction of the whole.

        The first lies outside the box in its first factor; the second inside in the first factor and outside
        in the second; and so on.
        """
        parts, inner = [], dict[str, tuple[float, float]]()
        for name, side in _check_box(box).items():
            axis: Axis = getattr(self, name)
            outside = axis.outside(*side)
            if outside.segments:
                fraction = self.fraction(inner) * outside.measure / axis.measure
                parts.append((fraction, self.inside(inner)._with({name: outside})))
            inner[name] = side
        return parts

    def _with(self, axes: Mapping[str, Axis]) -> "FactorSpace":
        current: dict[str, Axis] = {name: getattr(self, name) for name in FACTOR_NAMES}
        return FactorSpace(**{**current, **axes}, colour=self.colour)


def _axis(name: str, values: FactorValues) -> Axis:
    if isinstance(values, Axis):
        return values
    if isinstance(values, Mapping):
        return _interval(name, values, LIMITS[name])
    if isinstance(values, int | np.integer):
        check_range(f"the number of {name} values", values, 1, MAX_GRID)
        ends = {"scale": (0.5, 1.0), "angle": (0.0, 2 * pi * values / (values + 1))}.get(name, (0.0, 1.0))
        return Axis.values([CANONICAL[name]] if values == 1 else np.linspace(*ends, values).tolist())
    if not isinstance(values, Sequence | np.ndarray):
        raise BadInput(f"{name} is {values!r}; give a number of values, a list of them, or low and high")
    if not len(values):
        raise BadInput(f"{name} is an empty list; give at least one value")
    for value in values:
        check_range(name, value, *LIMITS[name])
    different = {round(value % (2 * pi), 9) if name == "angle" else value for value in values}
    if len(different) < len(values):
        raise BadInput(f"{name} is {list(values)}; give each value once (as angles, 0 and 2π are the same)")
    return Axis.values(values)


def _interval(name: str, ends: Mapping[str, float], limits: tuple[float, float]) -> Axis:
    if set(ends) != {"low", "high"}:
        raise BadInput(f"{name} is {dict(ends)}; a range has the keys low and high")
    for end in ("low", "high"):
        check_range(f"{name}.{end}", ends[end], *limits)
    if name == "angle" and ends["high"] - ends["low"] > 2 * pi:
        raise BadInput(f"angle is {dict(ends)}; a range of angles spans at most 2π")
    if not ends["low"] < ends["high"]:
        raise BadInput(f"{name} is {dict(ends)}, an empty range; low must be below high")
    return Axis.interval(ends["low"], ends["high"])


def _colours(values: ColourValues) -> Colours:
    if isinstance(values, Colours):
        return values
    if isinstance(values, Mapping):
        return Colours(_interval("colour", values, (0.0, 1.0)))
    if isinstance(values, int | np.integer):
        check_range("the number of colours", values, 1, MAX_GRID)
        return Colours.hues(int(values))
    return Colours.from_rgb(values)


def _check_box(box: Box) -> Box:
    for name, side in box.items():
        if name not in FACTOR_NAMES:
            raise unknown("factor", name, FACTOR_NAMES)
        if np.shape(side) != (2,) or not side[0] <= side[1]:
            raise BadInput(f"the box in {name} is {side!r}; give (low, high); low must not be above high")
    return box
