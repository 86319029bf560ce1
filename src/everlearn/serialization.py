"""Images in answers: small, and plain JSON."""

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
"""Stands in the plain values where an array was taken out."""


def pack(tree: Tree) -> bytes:
    """Nested dictionaries of arrays and JSON values as one safetensors file.

    Example:
        >>> tree = {"weights": np.ones(3), "labels": [7, 2], "inner": {"step": np.int64(5)}}
        >>> unpack(pack(tree))
        {'weights': array([1., 1., 1.]), 'labels': [7, 2], 'inner': {'step': 5}}
    """
    arrays: dict[str, Array] = {}
    plain = _take_arrays(tree, "", arrays)
    return save(arrays, metadata={"plain": json.dumps(plain, allow_nan=False)})


def unpack(data: bytes) -> Tree:
    """The tree that `pack` was given."""
    try:
        size = int.from_bytes(data[:8], "little")
        plain = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["plain"])
        tree = _put_arrays(plain, load(data))
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"this is not a saved state ({error}); it cannot be read") from None
    if not isinstance(tree, dict):
        raise BadInput("this is not a saved state (it has no names); it cannot be read")
    return tree


def digest(tree: Tree) -> str:
    """A hash over every array and value of a tree, whatever the order of its names.

    Example:
        >>> digest({"a": 1, "b": np.zeros(2)}) == digest({"b": np.zeros(2), "a": 1})
        True
    """
    arrays: dict[str, Array] = {}
    plain = _take_arrays(tree, "", arrays)
    sha = hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode())
    for name, array in sorted(arrays.items()):
        sha.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _take_arrays(tree: Any, path: str, arrays: dict[str, Array]) -> Any:
    """The tree with each array replaced by its name; the arrays go into `arrays`."""
    if isinstance(tree, dict):
        return {_name(key): _take_arrays(value, f"{path}/{key}", arrays) for key, value in tree.items()}
    if isinstance(tree, np.ndarray):
        arrays[path] = np.asarray(tree, order="C")
        return {ARRAY: path}
    if isinstance(tree, np.generic):
        return tree.item()
    return tree


def _name(key: Any) -> str:
    if not isinstance(key, str) or "/" in key or key == ARRAY:
        raise TypeError(f"a state cannot have the name {key!r}; names are words without '/'")
    return key


def _put_arrays(plain: Any, arrays: dict[str, Array]) -> Any:
    if not isinstance(plain, dict):
        return plain
    if ARRAY in plain:
        return arrays[plain[ARRAY]]
    return {key: _put_arrays(value, arrays) for key, value in plain.items()}


def packed(image: Images) -> dict[str, Any]:
    """A image as plain JSON values.

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
