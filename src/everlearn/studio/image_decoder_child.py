"""The child process that decodes untrusted image files, with limits on memory and CPU time.

It reads files from stdin, each preceded by its length in eight bytes, and answers each on stdout in the same
way: `IMAGE` and a PNG file with sides of at most 512 pixels, or `ERROR` and a message.
"""

import io
import signal
import sys
import warnings
from typing import IO

import numpy as np
from PIL import Image, UnidentifiedImageError

from everlearn.errors import BadInput
from everlearn.streams.images.decode import FORMATS, decode
from everlearn.streams.stream import Images

if sys.platform != "win32":
    import resource

MAX_PIXELS = 16_000_000
MAX_SIDE = 512
"""Of the decoded image."""
MAX_MEMORY = 1_000_000_000
MAX_CPU_SECONDS = 0.8
"""For one file; then the system ends this process."""
LENGTH_BYTES = 8
IMAGE, ERROR = b"P", b"E"
NAME = "the file"


def decode_untrusted(content: bytes) -> bytes:
    """Decode an image file and encode its pixels, without metadata, as a small PNG file.

    The size is read first; a file that states too many pixels is not decoded.
    """
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(content), formats=FORMATS) as image,
        ):
            width, height = image.size
    except UnidentifiedImageError:
        raise BadInput(f"{NAME} is not an image; choose one of {', '.join(FORMATS)}") from None
    except Exception as error:  # Pillow raises many types of errors for malformed headers
        raise BadInput(f"{NAME} is not a valid image ({error})") from None
    if width * height > MAX_PIXELS:
        raise BadInput(f"{NAME} has {width} x {height} pixels; the maximum is {MAX_PIXELS:,}")
    small = Image.fromarray(decode(content, NAME))
    small.thumbnail((MAX_SIDE, MAX_SIDE))
    return encode_png(np.asarray(small))


def encode_png(image: Images) -> bytes:
    """An image as a PNG file, with fast compression."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG", compress_level=1)
    return file.getvalue()


def main(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer requests until the input ends."""
    _limit_memory()
    while length := source.read(LENGTH_BYTES):
        content = source.read(int.from_bytes(length))
        _limit_time(MAX_CPU_SECONDS)
        try:
            answer = IMAGE + decode_untrusted(content)
        except (BadInput, MemoryError) as error:
            answer = ERROR + str(error or f"{NAME} needs too much memory").encode()
        _limit_time(0)
        sink.write(len(answer).to_bytes(LENGTH_BYTES) + answer)
        sink.flush()


def _limit_memory() -> None:
    if sys.platform != "win32":  # where this process is not used
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        except (ValueError, OSError):
            if sys.platform != "darwin":  # which may refuse it; the limit on CPU time remains
                raise


def _limit_time(seconds: float) -> None:
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
