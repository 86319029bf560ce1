"""Rasterization of outlines under factors.

`render(outlines, factors, image_size)` returns arrays of images. Each pixel is the exact area coverage of the
shape. The bytes do not depend on the number of threads, the batch or the processor.
"""

from everlearn.rendering.nuisances import Nuisances
from everlearn.rendering.render import render

__all__ = ["Nuisances", "render"]
