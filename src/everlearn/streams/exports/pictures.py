"""Images as PNG files in memory."""

import io
import struct

import numpy as np
from PIL import Image

from everlearn.streams.batch import Images

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def to_png(image: Images) -> bytes:
    """One (H, W) or (H, W, 3) image as the bytes of a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def from_png(data: bytes, shape: tuple[int, ...]) -> Images:
    """The image in the bytes of a PNG file, which must have the expected shape.

    The size is compared before anything is unpacked, so a picture cannot take more memory than expected.
    """
    width, height = struct.unpack(">II", data[16:24])
    if not data.startswith(SIGNATURE) or (height, width) != shape[:2]:
        raise ValueError(f"not a PNG picture of {shape[1]} x {shape[0]} pixels")
    with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
        if picture.mode != ("RGB" if len(shape) == 3 else "L"):
            raise ValueError(f"a picture of mode {picture.mode}")
        return np.array(picture)
