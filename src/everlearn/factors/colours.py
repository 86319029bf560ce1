"""The colours in which things may be shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everlearn.chance import FloatArray, IntArray
from everlearn.errors import BadInput
from everlearn.factors.axis import Axis
from everlearn.factors.factors import WHITE

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
