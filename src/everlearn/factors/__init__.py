"""What may vary in an image: scale, angle, place and colour.

Takes the values or ranges a user allows; gives `Factors`, the arrays of ground truth that travel with
every batch of images, from a `FactorSpace` of what is possible. Knows nothing of shapes or pixels.
"""

from everlearn.factors.factors import FACTOR_NAMES, Factors
from everlearn.factors.poses import Poses
from everlearn.factors.space import Axis, Box, FactorSpace

__all__ = ["FACTOR_NAMES", "Axis", "Box", "FactorSpace", "Factors", "Poses"]
