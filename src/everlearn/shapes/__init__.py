"""Procedurally generated shapes, indexed without limit.

`ShapeFamily(seed).outline(i)` is a pure function of (seed, i): closed curves in unit coordinates.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.shapes.family import ShapeFamily
    from everlearn.shapes.outlines import Outlines

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
