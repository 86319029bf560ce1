"""Procedurally generated shapes, indexed without limit.

`ShapeFamily(seed).outline(i)` is a pure function of (seed, i): closed curves in unit coordinates.
"""

from everlearn.shapes.family import ShapeFamily
from everlearn.shapes.outlines import Outlines

__all__ = ["Outlines", "ShapeFamily"]
