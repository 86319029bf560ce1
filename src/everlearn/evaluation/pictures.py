"""Pictures in answers: small, and plain JSON."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from everlearn.streams.batch import Images


def packed(image: Images) -> dict[str, Any]:
    """A picture as plain JSON values.

    Example:
        >>> unpacked(packed(np.eye(2, dtype=np.uint8))).tolist()
        [[1, 0], [0, 1]]
    """
    squeezed = zlib.compress(np.ascontiguousarray(image).tobytes(), 9)
    return {"shape": list(image.shape), "zlib": base64.b64encode(squeezed).decode()}


def unpacked(told: Mapping[str, Any]) -> Images:
    """What `packed` packed."""
    levels = zlib.decompress(base64.b64decode(told["zlib"]))
    return np.frombuffer(levels, np.uint8).reshape(told["shape"])
