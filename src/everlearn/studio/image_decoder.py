"""Image files from strangers, opened by a child that may be ended at any time."""

import os
import select
import subprocess
import sys
import threading
import time
from typing import IO

from everlearn.errors import BadInput
from everlearn.studio.image_decoder_child import COMPLAINT, HEAD

START = 60.0
"""Seconds that the child may take to begin."""
PATIENCE = 10.0
"""Seconds that it may take for one file on a busy machine; of the processor it gets much less."""
PIECE = 1 << 16


class TooSlow(Exception):
    """The child did not answer in time."""


class Decoder:
    """Opens image files one at a time; a file that takes too long costs the child its life.

    The child is started when first needed, and again after it was ended; whoever gave the file that ended
    it need not wait for the next one to awake.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._is_awake = False

    @property
    def process(self) -> int | None:
        """The number of the child, if there is one."""
        return None if self._child is None else self._child.pid

    def warm_up(self) -> None:
        """Have a child ready, so that the first file need not wait for it."""
        with self._lock:
            self._ready()

    def open(self, content: bytes) -> bytes:
        """An image file as a small PNG file of its pixels alone."""
        with self._lock:
            child = self._ready()
            try:
                answer = _asked(child, content, PATIENCE)
            except (TooSlow, OSError):
                self._end()
                self._start()
                raise BadInput("the file takes too long to open or is made to harm; give another") from None
        if answer[:1] == COMPLAINT:
            raise BadInput(answer[1:].decode(errors="replace"))
        return answer[1:]

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _ready(self) -> subprocess.Popen[bytes]:
        child = self._child
        if child is None or child.poll() is not None:
            self._end()
            child = self._start()
        if not self._is_awake:
            _asked(child, b"", START)  # an empty file is refused at once, by a child that is awake
            self._is_awake = True
        return child

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "everlearn.studio.image_decoder_child"]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  (our own words)
        return self._child

    def _end(self) -> None:
        self._is_awake = False
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            _pipe(pipe).close()
        self._child = None


def _asked(child: subprocess.Popen[bytes], content: bytes, patience: float) -> bytes:
    end = time.monotonic() + patience
    source = _pipe(child.stdin)
    source.write(len(content).to_bytes(HEAD) + content)
    source.flush()
    size = int.from_bytes(_read(_pipe(child.stdout), HEAD, end))
    return _read(_pipe(child.stdout), size, end)


def _read(pipe: IO[bytes], size: int, end: float) -> bytes:
    """Exactly so many bytes, if they come before the end."""
    read = bytearray()
    while len(read) < size:
        if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            raise TooSlow
        some = os.read(pipe.fileno(), min(PIECE, size - len(read)))
        if not some:
            raise TooSlow
        read += some
    return bytes(read)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise TooSlow
    return pipe
