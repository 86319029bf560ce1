"""Decoding of untrusted image files in a child process that can be killed at any time."""

import base64
import math
import os
import select
import subprocess
import sys
import threading
import time
from typing import IO

import numpy as np
from PIL.Image import Resampling

from everlearn.errors import BadInput
from everlearn.streams.images.decode import fitted
from everlearn.streams.stream import Images
from everlearn.studio.image_decoder_child import ERROR, LENGTH_BYTES, MAX_SIDE, encode_png

START_TIMEOUT = 60.0
"""Seconds for the child to start."""
DECODE_TIMEOUT = 10.0
"""Seconds for one file on a busy machine; the limit on CPU time is much lower."""
CHUNK_BYTES = 1 << 16
MIN_SIDE = 8
N_CHANNELS = 4


class ChildFailed(Exception):
    """The child did not answer in time, or ended."""


class ImageDecoder:
    """Decodes image files one at a time in a child process, which is killed if it takes too long.

    The child is started on first use and again after it was killed, without waiting until it is ready.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    @property
    def pid(self) -> int | None:
        """The process id of the child, if there is one."""
        return None if self._child is None else self._child.pid

    def warm_up(self) -> None:
        """Start the child and wait until it is ready."""
        if sys.platform == "win32":
            return
        with self._lock:
            self._ready_child()

    def decode(self, content: bytes) -> bytes:
        """Decode an image file and encode its pixels as a small PNG file."""
        if sys.platform == "win32":
            raise BadInput(
                "the studio decodes uploads in a process with limited time and memory, which Windows lacks; "
                "draw the image, or add it with `everlearn memory add`"
            )
        with self._lock:
            child = self._ready_child()
            try:
                answer = _request(child, content, DECODE_TIMEOUT)
            except (ChildFailed, OSError):
                self._kill()
                self._start()
                raise BadInput(
                    "decoding this file needs too much time or memory; choose another image"
                ) from None
        if answer[:1] == ERROR:
            raise BadInput(answer[1:].decode(errors="replace"))
        return answer[1:]

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._kill()

    def _ready_child(self) -> subprocess.Popen[bytes]:
        child = self._child
        if child is None or child.poll() is not None:
            self._kill()
            child = self._start()
        if not self._is_ready:
            _request(child, b"", START_TIMEOUT)  # a child that is ready rejects an empty file immediately
            self._is_ready = True
        return child

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "everlearn.studio.image_decoder_child"]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  (constant)
        return self._child

    def _kill(self) -> None:
        self._is_ready = False
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            _open_pipe(pipe).close()
        self._child = None


def _request(child: subprocess.Popen[bytes], content: bytes, timeout: float) -> bytes:
    end = time.monotonic() + timeout
    stdin, stdout = _open_pipe(child.stdin), _open_pipe(child.stdout)
    stdin.write(len(content).to_bytes(LENGTH_BYTES) + content)
    stdin.flush()
    size = int.from_bytes(_read(stdout, LENGTH_BYTES, end))
    return _read(stdout, size, end)


def _read(pipe: IO[bytes], size: int, end: float) -> bytes:
    """Exactly `size` bytes, before a deadline."""
    data = bytearray()
    while len(data) < size:
        if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            raise ChildFailed
        chunk = os.read(pipe.fileno(), min(CHUNK_BYTES, size - len(data)))
        if not chunk:
            raise ChildFailed
        data += chunk
    return bytes(data)


def _open_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ChildFailed
    return pipe


def from_canvas(body: bytes, shape: tuple[int, ...]) -> Images:
    r"""The RGBA pixels of a square HTML canvas as an image (H, W) or (H, W, 3).

    Example:
        >>> from_canvas(b"\xff" * (4 * 16 * 16), (8, 8)).shape
        (8, 8)
    """
    # Means over blocks restore an exemplar that the page has enlarged.
    return fitted(canvas_pixels(body), shape, Resampling.BOX)


def canvas_pixels(body: bytes) -> Images:
    """The RGBA pixels (side, side, 4) of a square HTML canvas."""
    side = math.isqrt(len(body) // N_CHANNELS)
    if side * side * N_CHANNELS != len(body) or not MIN_SIDE <= side <= MAX_SIDE:
        raise BadInput(
            f"{len(body):,} bytes are not the RGBA pixels of a square image with sides of {MIN_SIDE} to "
            f"{MAX_SIDE} pixels"
        )
    return np.frombuffer(body, np.uint8).reshape(side, side, N_CHANNELS)


def background_colour(image: Images) -> str:
    """The colour of an image's corner, in CSS notation.

    Example:
        >>> background_colour(np.full((8, 8), 169, np.uint8))
        '#a9a9a9'
    """
    return "#" + bytes(np.broadcast_to(image[0, 0], 3).tolist()).hex()


def data_url(image: Images) -> str:
    """An image as a data URL."""
    return "data:image/png;base64," + base64.b64encode(encode_png(image)).decode()
