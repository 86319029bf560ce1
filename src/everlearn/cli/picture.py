"""A picture file as pixels of the shape a learner takes."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from everlearn.cli.reading import check_path
from everlearn.streams.batch import Images
from everlearn.streams.pictures.decode import decode


def read_picture(path: Path, shape: tuple[int, ...]) -> Images:
    """The picture, fitted into (H, W) gray or (H, W, 3) colour on black, its proportions kept."""
    drawn = Image.fromarray(decode(check_path(path).read_bytes(), str(path)), "RGBA")
    ground = Image.new("RGBA", drawn.size, (0, 0, 0, 255))
    flat = Image.alpha_composite(ground, drawn).convert("RGB" if len(shape) == 3 else "L")
    return np.asarray(ImageOps.pad(flat, (shape[1], shape[0])), np.uint8)
