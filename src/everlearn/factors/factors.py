"""Ground-truth factors of a batch of images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import FloatArray

FACTOR_NAMES = ("scale", "angle", "x", "y")
ALL_FACTORS = (*FACTOR_NAMES, "colour")
WHITE = (1.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Factors:
    """Scale, angle, position and colour of n images; the default is the canonical pose.

    Scalars are broadcast to the length of the longest array.

    Args:
        scale: size relative to the canonical pose, above 0.
        angle: rotation in radians, clockwise on the screen.
        x: horizontal position of the center, 0 (left) to 1 (right).
        y: vertical position of the center, 0 (top) to 1 (bottom).
        colour: red, green and blue in 0..1, shape (3,) or (n, 3).

    Example:
        >>> factors = Factors(scale=[0.5, 1.0], angle=0.0)
        >>> len(factors), factors.x
        (2, array([0.5, 0.5]))
    """

    scale: FloatArray
    angle: FloatArray
    x: FloatArray
    y: FloatArray
    colour: FloatArray

    def __init__(
        self,
        scale: npt.ArrayLike = 1.0,
        angle: npt.ArrayLike = 0.0,
        x: npt.ArrayLike = 0.5,
        y: npt.ArrayLike = 0.5,
        colour: npt.ArrayLike = WHITE,
    ) -> None:
        given = {"scale": scale, "angle": angle, "x": x, "y": y}
        columns = {name: _column(name, value) for name, value in given.items()}
        columns["colour"] = _colours(colour)
        lengths = {name: len(column) for name, column in columns.items()}
        n = max(lengths.values()) if min(lengths.values()) else 0
        if any(length not in (1, n) for length in lengths.values()):
            raise BadInput(f"factors have different lengths ({lengths}); give scalars or equal lengths")
        for name, column in columns.items():
            object.__setattr__(self, name, np.broadcast_to(column, (n, *column.shape[1:])).copy())
        if (self.scale <= 0).any():
            raise BadInput(f"scale is {self.scale.min()}; it must be above 0")

    def __len__(self) -> int:
        return len(self.scale)

    def __getitem__(self, which: Any) -> "Factors":
        """The factors of some images: an index, an array of indices, a mask or a slice."""
        rows = np.atleast_1d(np.arange(len(self))[which])
        selected = object.__new__(Factors)  # the constructor would check the values again
        for name in ALL_FACTORS:
            object.__setattr__(selected, name, getattr(self, name)[rows])
        return selected

    def __iter__(self) -> Iterator["Factors"]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Factors):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def canonical(cls, n: int = 1) -> "Factors":
        """The canonical pose, n times."""
        return cls(scale=np.ones(n))

    @classmethod
    def concatenate(cls, parts: Sequence["Factors"]) -> "Factors":
        """The factors of several batches, in order."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})

    def array(self) -> FloatArray:
        """The four geometric factors, (n, 4), in the order of FACTOR_NAMES."""
        return np.stack([self.scale, self.angle, self.x, self.y], axis=1)

    def matrices(self) -> FloatArray:
        """The affine matrices (n, 2, 3) from the canonical frame to the image frame.

        Both frames span -1 to 1, as in `torch.nn.functional.affine_grid`: sampling an image on the grid of
        its matrix gives the image in canonical pose.
        """
        c, s = self.scale * np.cos(self.angle), self.scale * np.sin(self.angle)
        rows = [np.stack([c, -s, self.x - 0.5], axis=1), np.stack([s, c, self.y - 0.5], axis=1)]
        return np.stack(rows, axis=1)


def rounded(values: FloatArray) -> FloatArray:
    """Values rounded to multiples of 2**-24: the last bits of sine and cosine differ between libraries."""
    return np.asarray(np.round(values * 2.0**24) / 2.0**24)


def as_floats(name: str, value: npt.ArrayLike) -> FloatArray:
    """The value as an array; raises `BadInput` if it is not numeric."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{name} is {value!r:.80}; it must be a number or a list of numbers") from None


def _column(name: str, value: npt.ArrayLike) -> FloatArray:
    column = as_floats(name, value)
    if column.ndim > 1:
        raise BadInput(f"{name} has shape {column.shape}; it must be a number or a flat list of numbers")
    if not np.isfinite(column).all():
        raise BadInput(f"{name} contains a value that is not finite; every value must be finite")
    return column.reshape(-1)


def _colours(value: npt.ArrayLike) -> FloatArray:
    colours = as_floats("colour", value)
    if colours.ndim not in (1, 2) or colours.shape[-1] != 3:
        raise BadInput(f"colour has shape {colours.shape}; it must be (3,) or (n, 3): red, green, blue")
    if not ((colours >= 0) & (colours <= 1)).all():
        raise BadInput("colour contains a value outside 0..1; red, green and blue must be from 0 to 1")
    return colours.reshape(-1, 3)
