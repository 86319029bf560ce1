"""Procedurally generated shapes, indexed without limit.

`ShapeFamily(seed).outline(i)` is a pure function of (seed, i). It returns `Outlines`: closed curves in unit
coordinates, independent of any resolution. The package `rendering` rasterizes them.
"""

from everlearn.shapes.family import ShapeFamily
from everlearn.shapes.outlines import Outlines

__all__ = ["Outlines", "ShapeFamily"]
