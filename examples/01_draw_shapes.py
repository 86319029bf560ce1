"""Render shapes 0, 1 and 1,000,000 at twelve angles."""

import sys

import numpy as np

from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.reports import image_sheet, save
from everlearn.shapes import ShapeFamily

family = ShapeFamily(seed=0)
shapes = family.outlines([0, 1, 1_000_000])
poses = Factors(angle=np.linspace(0, 2 * np.pi, 12, endpoint=False))

images = np.concatenate([render(shape, poses, image_size=96) for shape in shapes])
page = image_sheet(images, columns=12, captions=["shape 0", "shape 1", "shape 1,000,000"])
print("Wrote", save(page, sys.argv[1] if len(sys.argv) > 1 else "shapes.png"))
