"""A batch of closed curves in unit coordinates."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import FloatArray, IntArray
from everlearn.shapes.jit import compiled_in_place
from everlearn.shapes.spline import X, Y, centroid, extent


@dataclass(frozen=True, eq=False)
class Outlines:
    """A batch of closed splines around the origin, with a bounding box of 1 x 1; y points down.

    Attributes:
        cubics: (n, max_vertices, 2, 4) the segments of each curve: x and y as the four coefficients of a
            cubic in s from 0 to 1. Segments beyond the curve's number of vertices are undefined.
        n_vertices: (n,) the number of segments of each curve.

    Example:
        >>> from everlearn.shapes import ShapeFamily
        >>> outlines = ShapeFamily(seed=0).outlines(range(3))
        >>> outlines.n_vertices
        array([6, 8, 5])
        >>> outlines[1].points(100).shape
        (1, 100, 2)
    """

    cubics: FloatArray
    n_vertices: IntArray

    def __len__(self) -> int:
        return len(self.n_vertices)

    def __getitem__(self, which: Any) -> "Outlines":
        """Some of the outlines: an index, an array of indices, a mask or a slice."""
        rows = np.atleast_1d(np.arange(len(self))[which])
        return Outlines(self.cubics[rows], self.n_vertices[rows])

    def __iter__(self) -> Iterator["Outlines"]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether the curves are equal; undefined segments are ignored."""
        if not isinstance(other, Outlines):
            return NotImplemented
        if not np.array_equal(self.n_vertices, other.n_vertices):
            return False
        return np.array_equal(self.cubics[self._used], other.cubics[other._used])

    __hash__ = None  # type: ignore[assignment]

    @property
    def orders(self) -> IntArray:
        """(n,) spline orders: 1 for polygons, 3 for smooth curves."""
        curved = (self.cubics[..., 2:] != 0).any(axis=(2, 3)) & self._used
        return np.where(curved.any(axis=1), 3, 1)

    @property
    def area(self) -> FloatArray:
        """(n,) enclosed areas, as fractions of the bounding box."""
        return self._measures()[:, 0]

    @property
    def centroid(self) -> FloatArray:
        """(n, 2) centroids: the origin, up to rounding."""
        return self._measures()[:, 1:3]

    @property
    def bounds(self) -> FloatArray:
        """(n, 4) bounding boxes: left, top, right, bottom."""
        return self._measures()[:, 3:]

    def points(self, n: int) -> FloatArray:
        """(len, n, 2) points along each outline, with its vertices if n is a multiple of their number."""
        if n < 3:
            raise BadInput(f"n is {n}; an outline needs at least 3 points")
        position = np.arange(n) * (self.n_vertices[:, None] / n)  # (len, n)
        segment = position.astype(np.int64)
        s = (position - segment)[..., None]
        c = self.cubics[np.arange(len(self))[:, None], segment]  # (len, n, 2, 4)
        return np.asarray(c[..., 0] + s * (c[..., 1] + s * (c[..., 2] + s * c[..., 3])))

    @property
    def _used(self) -> npt.NDArray[np.bool_]:
        return np.arange(self.cubics.shape[1]) < self.n_vertices[:, None]

    def _measures(self) -> FloatArray:
        measures = np.empty((len(self), 7))
        _measure(self.cubics, self.n_vertices, measures)
        return measures


@compiled_in_place
def _measure(cubics: FloatArray, n_vertices: IntArray, measures: FloatArray) -> None:
    for k in range(len(n_vertices)):
        curve, n = cubics[k], n_vertices[k]
        area, x, y = centroid(curve, n)
        left, right = extent(curve, n, X)
        top, bottom = extent(curve, n, Y)
        measures[k, 0], measures[k, 1], measures[k, 2] = area, x, y
        measures[k, 3], measures[k, 4], measures[k, 5], measures[k, 6] = left, top, right, bottom
