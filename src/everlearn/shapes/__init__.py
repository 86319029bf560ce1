"""What is drawn: outline number i of an endless family, in unit coordinates.

Takes a seed, a few numbers that describe the family, and indices. Gives `Outlines`, closed curves that know
nothing of pixels; the rendering room turns them into images.
"""

from everlearn.shapes.family import ShapeFamily
from everlearn.shapes.outlines import Outlines

__all__ = ["Outlines", "ShapeFamily"]
