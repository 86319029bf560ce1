"""The child that opens picture files from strangers, within limits of memory and time.

It reads files from its input, each after its length in eight bytes, and answers each in the same way: with
a PNG file of at most 512 pixels a side after the letter P, or with a sentence after the letter E.
"""

import io
import resource
import signal
import sys
import warnings
from typing import IO

import numpy as np
from PIL import Image, UnidentifiedImageError

from everlearn.errors import BadInput
from everlearn.streams.pictures.decode import FORMATS, decode
from everlearn.studio.pixels import LARGEST, png

MAX_PIXELS = 16_000_000
MAX_MEMORY = 1_000_000_000
MAX_SECONDS = 0.8
"""Of the processor, for one file; then the system ends this child."""
HEAD = 8
PICTURE, COMPLAINT = b"P", b"E"
NAME = "the file"


def opened(content: bytes) -> bytes:
    """A picture file as a small PNG file that holds its pixels and nothing else.

    Its own size is read first; nothing that says it is too large is decoded.
    """
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(content), formats=FORMATS) as image,
        ):
            width, height = image.size
    except UnidentifiedImageError:
        raise BadInput(f"{NAME} is not a picture; give one of {', '.join(FORMATS)}") from None
    except Exception as error:  # headers made to harm make the decoders raise nearly anything
        raise BadInput(f"{NAME} is not a picture that can be opened ({error})") from None
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
