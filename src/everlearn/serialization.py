"""Nested state as safetensors files, digests of it, and images as JSON values."""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from everlearn.errors import BadInput

Array = npt.NDArray[Any]
Images = npt.NDArray[np.uint8]
Tree = dict[str, Any]

ARRAY = "__array__"
"""Key that replaces an array among the JSON values."""


def pack(tree: Tree) -> bytes:
    """Serialize nested dictionaries of arrays and JSON values as one safetensors file.

    Example:
        >>> tree = {"weights": np.ones(3), "labels": [7, 2], "inner": {"step": np.int64(5)}}
        >>> unpack(pack(tree))
        {'weights': array([1., 1., 1.]), 'labels': [7, 2], 'inner': {'step': 5}}
    """
    arrays: dict[str, Array] = {}
    plain = _extract_arrays(tree, "", arrays)
    return save(arrays, metadata={"plain": json.dumps(plain, allow_nan=False)})


def unpack(data: bytes) -> Tree:
    """Deserialize the output of `pack`."""
    try:
        size = int.from_bytes(data[:8], "little")
        plain = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["plain"])
        tree = _insert_arrays(plain, load(data))
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"this is not a saved state ({error}); use a file that everlearn has saved") from None
    if not isinstance(tree, dict):
        raise BadInput("this is not a saved state (it has no names); use a file that everlearn has saved")
    return tree


def digest(tree: Tree) -> str:
    """Hash of all arrays and values of a tree, independent of the order of keys."""
    arrays: dict[str, Array] = {}
    plain = _extract_arrays(tree, "", arrays)
    sha = hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode())
    for name, array in sorted(arrays.items()):
        sha.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _extract_arrays(tree: Any, path: str, arrays: dict[str, Array]) -> Any:
    """The tree with each array replaced by its path; the arrays are added to `arrays`."""
    if isinstance(tree, dict):
        for key in tree:
            if not isinstance(key, str) or "/" in key or key == ARRAY:
                raise TypeError(f"a state cannot have the key {key!r}; keys are strings without '/'")
        return {key: _extract_arrays(value, f"{path}/{key}", arrays) for key, value in tree.items()}
    if isinstance(tree, np.ndarray):
        arrays[path] = np.asarray(tree, order="C")
        return {ARRAY: path}
    if isinstance(tree, np.generic):
        return tree.item()
    return tree


def _insert_arrays(plain: Any, arrays: dict[str, Array]) -> Any:
    if not isinstance(plain, dict):
        return plain
    if ARRAY in plain:
        return arrays[plain[ARRAY]]
    return {key: _insert_arrays(value, arrays) for key, value in plain.items()}


def image_to_json(image: Images) -> dict[str, Any]:
    """An image as JSON values, compressed."""
    compressed = zlib.compress(np.ascontiguousarray(image).tobytes(), 9)
    return {"shape": list(image.shape), "zlib": base64.b64encode(compressed).decode()}


def image_from_json(values: Mapping[str, Any]) -> Images:
    """The image that `image_to_json` encoded."""
    pixels = zlib.decompress(base64.b64decode(values["zlib"]))
    return np.frombuffer(pixels, np.uint8).reshape(values["shape"])
