"""The child that opens image files from strangers, within limits of memory and time.

It reads files from its input, each after its length in eight bytes, and answers each in the same way: with
a PNG file of at most 512 pixels a side after the letter P, or with a sentence after the letter E.
"""

import base64
import io
import math
import resource
import signal
import sys
import warnings
from typing import IO

import numpy as np
from PIL import Image, UnidentifiedImageError

from everlearn.errors import BadInput
from everlearn.streams.images.decode import FORMATS, decode, fitted
from everlearn.streams.stream import Images

SMALLEST, LARGEST = 8, 512
"""Sides of a canvas."""
CHANNELS = 4


def from_canvas(body: bytes, shape: tuple[int, ...]) -> Images:
    r"""The pixels of a square canvas, red, green, blue and alpha, as one image (H, W) or (H, W, 3).

    Example:
        >>> from_canvas(b"\xff" * (4 * 16 * 16), (8, 8)).shape
        (8, 8)
    """
    side = math.isqrt(len(body) // CHANNELS)
    if side * side * CHANNELS != len(body) or not SMALLEST <= side <= LARGEST:
        raise BadInput(
            f"{len(body):,} bytes are no square image of {SMALLEST} to {LARGEST} pixels a side, four bytes "
            "each; send a canvas's pixels"
        )
    return fitted(np.frombuffer(body, np.uint8).reshape(side, side, CHANNELS), shape)


def colour_behind(image: Images) -> str:
    """The colour of an image's corner, as pages write colours.

    Example:
        >>> colour_behind(np.full((8, 8), 169, np.uint8))
        '#a9a9a9'
    """
    levels = np.broadcast_to(image[0, 0], 3)
    return "#" + bytes(levels.tolist()).hex()


def png(image: Images) -> bytes:
    """An image as a PNG file, made fast rather than small."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG", compress_level=1)
    return file.getvalue()


def data_url(image: Images) -> str:
    """An image as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png(image)).decode()


MAX_PIXELS = 16_000_000
MAX_MEMORY = 1_000_000_000
MAX_SECONDS = 0.8
"""Of the processor, for one file; then the system ends this child."""
HEAD = 8
PICTURE, COMPLAINT = b"P", b"E"
NAME = "the file"


def opened(content: bytes) -> bytes:
    """An image file as a small PNG file that holds its pixels and nothing else.

    Its own size is read first; nothing that says it is too large is decoded.
    """
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(content), formats=FORMATS) as image,
        ):
            width, height = image.size
    except UnidentifiedImageError:
        raise BadInput(f"{NAME} is not an image; give one of {', '.join(FORMATS)}") from None
    except Exception as error:  # headers made to harm make the decoders raise nearly anything
        raise BadInput(f"{NAME} is not an image that can be opened ({error})") from None
    if width * height > MAX_PIXELS:
        raise BadInput(f"{NAME} has {width} x {height} pixels; give one of at most {MAX_PIXELS:,}")
    small = Image.fromarray(decode(content, NAME))
    small.thumbnail((LARGEST, LARGEST))
    return png(np.asarray(small))


def main(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    while head := source.read(HEAD):
        content = source.read(int.from_bytes(head))
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        try:
            answer = PICTURE + opened(content)
        except (BadInput, MemoryError) as error:
            answer = COMPLAINT + str(error or "the file needs too much memory").encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        sink.write(len(answer).to_bytes(HEAD) + answer)
        sink.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
