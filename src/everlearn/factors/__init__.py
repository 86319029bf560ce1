"""What may vary in a picture: scale, angle, place and colour.

Takes the values or ranges a user allows; gives `Factors`, the arrays of ground truth that travel with
every batch of images. Knows nothing of shapes or pixels.
"""

from everlearn.factors.factors import FACTOR_NAMES, Factors
from everlearn.factors.space import FactorSpace, HeldOut, Range, Values

__all__ = ["FACTOR_NAMES", "FactorSpace", "Factors", "HeldOut", "Range", "Values"]
