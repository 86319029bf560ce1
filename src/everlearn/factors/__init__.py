"""Factors of variation: scale, angle, position and colour.

A `FactorSpace` defines the values of each factor. `Poses` enumerates combinations of them and holds some out.
`Factors` are the ground-truth arrays of a batch of images.
"""

from everlearn.factors.factors import FACTOR_NAMES, Factors
from everlearn.factors.poses import Poses
from everlearn.factors.space import Axis, Box, FactorSpace

__all__ = ["FACTOR_NAMES", "Axis", "Box", "FactorSpace", "Factors", "Poses"]
