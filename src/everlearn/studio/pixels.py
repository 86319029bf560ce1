"""Pictures on their way between a canvas, a learner and a PNG file."""

import base64
import io
import math

import numpy as np
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.batch import Images
from everlearn.streams.pictures.decode import fitted

SMALLEST, LARGEST = 8, 512
"""Sides of a canvas."""
CHANNELS = 4


def from_canvas(body: bytes, shape: tuple[int, ...]) -> Images:
    r"""The pixels of a square canvas, red, green, blue and alpha, as one picture (H, W) or (H, W, 3).

    Example:
        >>> from_canvas(b"\xff" * (4 * 16 * 16), (8, 8)).shape
        (8, 8)
    """
    side = math.isqrt(len(body) // CHANNELS)
    if side * side * CHANNELS != len(body) or not SMALLEST <= side <= LARGEST:
        raise BadInput(
            f"{len(body):,} bytes are no square picture of {SMALLEST} to {LARGEST} pixels a side, four bytes "
            "each; send a canvas's pixels"
        )
    return fitted(np.frombuffer(body, np.uint8).reshape(side, side, CHANNELS), shape)


def colour_behind(picture: Images) -> str:
    """The colour of a picture's corner, as pages write colours.

    Example:
        >>> colour_behind(np.full((8, 8), 169, np.uint8))
        '#a9a9a9'
    """
    levels = np.broadcast_to(picture[0, 0], 3)
    return "#" + bytes(levels.tolist()).hex()


def png(picture: Images) -> bytes:
    """A picture as a PNG file, made fast rather than small."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def data_url(picture: Images) -> str:
    """A picture as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode()
