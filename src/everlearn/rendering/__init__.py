"""How it is drawn: outlines and factors become pixels.

Takes `Outlines` and `Factors`, and an image size, which no other room knows. Gives arrays of images, the
same bytes for any number of threads, any batch and any processor.
"""

from everlearn.rendering.nuisances import Nuisances
from everlearn.rendering.render import render

__all__ = ["Nuisances", "render"]
