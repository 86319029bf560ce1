"""Outlines in unit coordinates: a batch of closed curves, without any pixels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.shapes.jit import compiled
from everlearn.shapes.spline import centroid, extent

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outlines:
    """Closed curves around the origin, row by row; a bounding box of 1 x 1 and y pointing down.

    Attributes:
        cubics: (n, most vertices, 2, 4) the pieces of each curve: x and y as the four coefficients of a
            cubic in s from 0 to 1. Rows beyond a curve's own number of vertices mean nothing.
        n_vertices: (n,) how many pieces each curve has.

    Example:
        >>> from everlearn.shapes import ShapeFamily
        >>> outlines = ShapeFamily(seed=0).outlines([0, 1, 2])
        >>> len(outlines), outlines[1:].points(100).shape
        (3, (2, 100, 2))
    """

    cubics: FloatArray
    n_vertices: IntArray

    def __len__(self) -> int:
        return len(self.n_vertices)

    def __getitem__(self, which: Any) -> "Outlines":
        """Some of the outlines: an index array, a mask, a slice or one number."""
        rows = np.atleast_1d(np.arange(len(self))[which])
        return Outlines(self.cubics[rows], self.n_vertices[rows])

    def __iter__(self) -> Iterator["Outlines"]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether the curves are the same, whatever room was left for more vertices."""
        if not isinstance(other, Outlines):
            return NotImplemented
        if not np.array_equal(self.n_vertices, other.n_vertices):
            return False
        most = int(self.n_vertices.max(initial=0))
        used = np.arange(most) < self.n_vertices[:, None]
        return np.array_equal(self.cubics[:, :most][used], other.cubics[:, :most][used])

    __hash__ = None  # type: ignore[assignment]

    @property
    def orders(self) -> IntArray:
        """(n,) the order of each spline: 1 for a polygon, 3 for a smooth curve."""
        used = np.arange(self.cubics.shape[1]) < self.n_vertices[:, None]
        curved = (self.cubics[..., 2:] != 0).any(axis=(2, 3)) & used
        return np.where(curved.any(axis=1), 3, 1)

    @property
    def area(self) -> FloatArray:
        """(n,) the area enclosed, as a share of the bounding box."""
        return self._measures()[:, 0]

    @property
    def centroid(self) -> FloatArray:
        """(n, 2) the centre of the area: the origin, but for rounding."""
        return self._measures()[:, 1:3]

    @property
    def bounds(self) -> FloatArray:
        """(n, 4) the bounding boxes: left, top, right, bottom."""
        return self._measures()[:, 3:]

    def points(self, n: int) -> FloatArray:
        """(len, n, 2) points along each outline, for plots; the last joins the first.

        Args:
            n: how many points, at least 3; a multiple of the number of vertices hits the corners.
        """
        if n < 3:
            raise BadInput(f"points is asked for {n} points; an outline needs at least 3")
        position = np.arange(n) * (self.n_vertices[:, None] / n)  # (len, n)
        piece = position.astype(np.int64)
        s = (position - piece)[..., None]
        c = self.cubics[np.arange(len(self))[:, None], piece]  # (len, n, 2, 4)
        points: FloatArray = c[..., 0] + s * (c[..., 1] + s * (c[..., 2] + s * c[..., 3]))
        return points

    def _measures(self) -> FloatArray:
        measures = np.empty((len(self), 7))
        _measure(self.cubics, self.n_vertices, measures)
        return measures


@compiled
def _measure(cubics: FloatArray, n_vertices: IntArray, measures: FloatArray) -> None:
    for k in range(len(n_vertices)):
        curve, n = cubics[k], n_vertices[k]
        area, x, y = centroid(curve, n)
        left, right = extent(curve, n, 0)
        top, bottom = extent(curve, n, 1)
        measures[k, 0], measures[k, 1], measures[k, 2] = area, x, y
        measures[k, 3], measures[k, 4], measures[k, 5], measures[k, 6] = left, top, right, bottom
