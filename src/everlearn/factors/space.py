"""All the combinations of factors in which things may be shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import pi, prod

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range, unknown
from everlearn.factors.factors import FACTOR_NAMES, WHITE, Factors
from everlearn.rng import FloatArray, IntArray


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


Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Colours:
    """A palette of numbered colours or, without one, every hue of an interval.

    Example:
        >>> Colours.hues(3).pick(np.array([0, 1]))
        array([[1., 0., 0.],
               [0., 1., 0.]])
    """

    axis: Axis
    palette: tuple[Colour, ...] = ()

    @classmethod
    def of(cls, colours: Sequence[Sequence[float]]) -> "Colours":
        """Exactly these colours, each red, green and blue in 0..1."""
        if any(len(colour) != 3 or not all(0 <= part <= 1 for part in colour) for colour in colours):
            raise BadInput(f"colour is {colours!r}; give each colour as red, green and blue from 0 to 1")
        if len({tuple(colour) for colour in colours}) < len(colours):
            raise BadInput(f"colour is {colours!r}; give each colour once")
        return cls(Axis.values(range(len(colours))), tuple((c[0], c[1], c[2]) for c in colours))

    @classmethod
    def hues(cls, n: int) -> "Colours":
        """The pure colours at n equal steps around the colour wheel; a single one is white."""
        return cls.of([WHITE] if n == 1 else hue_to_rgb(np.arange(n) / n).tolist())

    def pick(self, numbers: IntArray) -> FloatArray:
        """The colours with these numbers, (n, 3)."""
        return np.array(self.palette)[numbers]

    def at(self, units: FloatArray) -> FloatArray:
        """The colours at these fractions of the way along, (n, 3)."""
        places = self.axis.at(units)
        return self.pick(places.astype(np.int64)) if self.palette else hue_to_rgb(places)


def hue_to_rgb(hue: FloatArray) -> FloatArray:
    """The pure colours of these hues: 0 red, 1/3 green, 2/3 blue, 1 red again; (n, 3)."""
    distance = np.abs(6.0 * np.asarray(hue)[:, None] - np.array([3.0, 2.0, 4.0]))
    rising = np.array([-1.0, 2.0, 2.0]) + np.array([1.0, -1.0, -1.0]) * distance
    return np.asarray(np.clip(rising, 0.0, 1.0))


Allowed = int | Sequence[float] | Mapping[str, float] | Axis
"""A number of grid values, the values themselves, or {"low": ..., "high": ...} for everything between."""
AllowedColours = int | Sequence[Sequence[float]] | Mapping[str, float] | Colours
"""A number of hues (1 is white), colours as red, green, blue in 0..1, or a range of hues within 0..1."""
Box = Mapping[str, tuple[float, float]]
"""A part of a space: the lowest and the highest value of some factors."""

CANONICAL = {"scale": 1.0, "angle": 0.0, "x": 0.5, "y": 0.5}
LIMITS = {"scale": (0.01, 4.0), "angle": (-100.0, 100.0), "x": (0.0, 1.0), "y": (0.0, 1.0)}
MAX_GRID = 1000


@dataclass(frozen=True, init=False)
class FactorSpace:
    """What each factor may be, and so all their combinations.

    Each geometric factor is a number of grid values, a list of values, or a range given as
    {"low": ..., "high": ...}. A grid of one is the canonical value. A grid of n turns runs from 0 to
    n/(n+1) of a full turn, so that no pose comes twice. One colour is white; n colours are n hues.

    Example:
        >>> space = FactorSpace(scale=5, angle=5, x=[0.25, 0.75], y=1, colour=3)
        >>> space.size
        150
        >>> space.combination([0, 149]).x
        array([0.25, 0.75])
        >>> FactorSpace(angle={"low": 0, "high": 6.28}).size is None
        True
    """

    scale: Axis
    angle: Axis
    x: Axis
    y: Axis
    colour: Colours

    def __init__(
        self,
        *,
        scale: Allowed = 5,
        angle: Allowed = 5,
        x: Allowed = 5,
        y: Allowed = 5,
        colour: AllowedColours = 1,
    ) -> None:
        for name, allowed in zip(FACTOR_NAMES, (scale, angle, x, y), strict=True):
            object.__setattr__(self, name, _axis(name, allowed))
        object.__setattr__(self, "colour", _colours(colour))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of scale, angle, x, y and colour, in this order."""
        return (self.scale, self.angle, self.x, self.y, self.colour.axis)

    @property
    def size(self) -> int | None:
        """How many combinations there are; None if some factor is a range, so that nobody can count."""
        if any(axis.continuous for axis in self.axes):
            return None
        return prod(len(axis) for axis in self.axes)

    def combination(self, numbers: npt.ArrayLike) -> Factors:
        """The combinations with these numbers, 0 to size - 1; colour changes fastest, scale slowest."""
        which = np.asarray(numbers, dtype=np.int64).reshape(-1)
        if self.size is None:
            raise BadInput("a continuous range has no numbered combinations; use sample")
        if which.size and not 0 <= which.min() <= which.max() < self.size:
            raise BadInput(f"there is no combination {which.max()}; they run from 0 to {self.size - 1}")
        *places, colours = np.unravel_index(which, [len(axis) for axis in self.axes])
        geometry = {name: getattr(self, name).pick(p) for name, p in zip(FACTOR_NAMES, places, strict=True)}
        return Factors(**geometry, colour=self.colour.pick(colours))

    def sample(self, units: FloatArray) -> Factors:
        """The factors at these fractions, (n, 5) in [0, 1): scale, angle, x, y, colour."""
        geometry = {name: getattr(self, name).at(units[:, i]) for i, name in enumerate(FACTOR_NAMES)}
        return Factors(**geometry, colour=self.colour.at(units[:, -1]))

    def numbers_within(self, box: Box) -> IntArray:
        """The numbers of the combinations that lie in a box, ascending."""
        inside = [np.ones(len(axis), dtype=bool) for axis in self.axes]
        for name, (low, high) in _checked(box).items():
            values = getattr(self, name).pick(slice(None))
            inside[FACTOR_NAMES.index(name)] = (values >= low) & (values <= high)
        return np.flatnonzero(reduce(np.logical_and.outer, inside))

    def share(self, box: Box) -> float:
        """The part of the space that lies in a box, 0 to 1."""
        inner = self.within(box)
        return prod(part.measure / whole.measure for part, whole in zip(inner.axes, self.axes, strict=True))

    def within(self, box: Box) -> "FactorSpace":
        """The space inside a box."""
        sides = {name: getattr(self, name).within(*side) for name, side in _checked(box).items()}
        return self._with(sides)

    def without(self, box: Box) -> list[tuple[float, "FactorSpace"]]:
        """The space around a box: disjoint parts, each with its share of the whole.

        The first part lies outside the box in its first factor; the next inside in the first, outside
        in the second; and so on.
        """
        parts = []
        inner: dict[str, tuple[float, float]] = {}
        for name, side in _checked(box).items():
            axis: Axis = getattr(self, name)
            outside = axis.without(*side)
            if outside.segments:
                share = self.share(inner) * outside.measure / axis.measure
                parts.append((share, self.within(inner)._with({name: outside})))
            inner[name] = side
        return parts

    def _with(self, axes: Mapping[str, Axis]) -> "FactorSpace":
        now: dict[str, Axis] = {name: getattr(self, name) for name in FACTOR_NAMES}
        return FactorSpace(**{**now, **axes}, colour=self.colour)


def _axis(name: str, allowed: Allowed) -> Axis:
    if isinstance(allowed, Axis):
        return allowed
    if isinstance(allowed, Mapping):
        return _interval(name, allowed, LIMITS[name])
    if isinstance(allowed, int):
        return Axis.values(_grid(name, allowed).tolist())
    return Axis.values(_listed(name, allowed))


def _listed(name: str, values: Sequence[float]) -> Sequence[float]:
    if not len(values):
        raise BadInput(f"{name} is an empty list; give at least one value")
    for value in values:
        check_range(name, value, *LIMITS[name])
    different = {round(value % (2 * pi), 9) if name == "angle" else value for value in values}
    if len(different) < len(values):
        raise BadInput(f"{name} is {list(values)}; give each value once (as turns, 0 and 2π are the same)")
    return values


def _grid(name: str, n: int) -> FloatArray:
    check_range(f"the number of {name} values", n, 1, MAX_GRID)
    if n == 1:
        return np.array([CANONICAL[name]])
    ends = {"scale": (0.5, 1.0), "angle": (0.0, 2 * pi * n / (n + 1))}
    return np.linspace(*ends.get(name, (0.0, 1.0)), n)


def _interval(name: str, allowed: Mapping[str, float], limits: tuple[float, float]) -> Axis:
    if set(allowed) != {"low", "high"}:
        raise BadInput(f"{name} is {dict(allowed)}; a range is written with low and high")
    for end in ("low", "high"):
        check_range(f"{name}.{end}", allowed[end], *limits)
    if name == "angle" and allowed["high"] - allowed["low"] > 2 * pi:
        raise BadInput(f"angle is {dict(allowed)}; a range of turns spans at most 2π")
    if not allowed["low"] < allowed["high"]:
        raise BadInput(f"{name} is {dict(allowed)}, an empty range; low must be below high")
    return Axis.interval(allowed["low"], allowed["high"])


def _colours(allowed: AllowedColours) -> Colours:
    if isinstance(allowed, Colours):
        return allowed
    if isinstance(allowed, Mapping):
        return Colours(_interval("colour", allowed, (0.0, 1.0)))
    if isinstance(allowed, int):
        check_range("the number of colours", allowed, 1, MAX_GRID)
        return Colours.hues(allowed)
    return Colours.of(allowed)


def _checked(box: Box) -> Box:
    for name, (low, high) in box.items():
        if name not in FACTOR_NAMES:
            raise unknown("factor", name, FACTOR_NAMES)
        if not low <= high:
            raise BadInput(f"the box in {name} from {low} to {high} is empty; low must not be above high")
    return box
