"""Factors of variation: scale, angle, position and colour.

A `FactorSpace` defines the values of each factor. `Poses` enumerates combinations of them and holds some out.
`Factors` are the ground-truth arrays of a batch of images.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.factors.factors import FACTOR_NAMES, Factors
    from everlearn.factors.poses import Poses
    from everlearn.factors.space import Axis, Box, FactorSpace

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
