"""Reads idx files, the format of MNIST and Fashion-MNIST, gzipped or not."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput

UNSIGNED_BYTE = 0x08
MAX_BYTES = 2**30

Bytes = npt.NDArray[np.uint8]


class Readable(Protocol):
    """An open file, gzipped or not."""

    def read(self, n: int, /) -> bytes:
        """The next n bytes, fewer at the end."""


def read_idx(path: Path, n_axes: int) -> Bytes:
    """The array in an idx file of unsigned bytes, read-only.

    Trusts nothing: the header is checked against the axes expected and a size limit before anything is
    read, and the file must hold exactly what its header says.

    Args:
        path: the file; gzipped if its name ends in `.gz`.
        n_axes: 3 for images, 1 for labels.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return _read(file, path, n_axes)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(
            f"{path} cannot be read ({error or 'it ends too early'}); put an undamaged copy in its place"
        ) from None


def _read(file: Readable, path: Path, n_axes: int) -> Bytes:
    shape = _read_shape(file, path, n_axes)
    expected = math.prod(shape)
    if expected > MAX_BYTES:
        raise BadInput(f"{path} claims to hold {shape} bytes; at most {MAX_BYTES} are read, so it is damaged")
    content = file.read(expected + 1)
    if len(content) != expected:
        found = f"only {len(content)}" if len(content) < expected else "more"
        raise BadInput(
            f"{path} says it holds {expected} bytes and holds {found}; put an undamaged copy in its place"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _read_shape(file: Readable, path: Path, n_axes: int) -> tuple[int, ...]:
    header = file.read(4 + 4 * n_axes)
    if len(header) < 4 + 4 * n_axes or header[:4] != bytes([0, 0, UNSIGNED_BYTE, n_axes]):
        raise BadInput(
            f"{path} does not begin like an idx file of unsigned bytes with {n_axes} axes; "
            f"put the original file, or its .gz, in its place"
        )
    return struct.unpack(f">{n_axes}I", header[4:])
