"""A learner's state as bytes: named arrays and plain JSON values, never code."""

import hashlib
import json
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from everlearn.errors import BadInput

Array = npt.NDArray[Any]
Tree = dict[str, Any]


def pack(tree: Tree) -> bytes:
    """Nested dictionaries of arrays and JSON values as one safetensors file."""
    arrays: dict[str, Array] = {}
    plain = _take_arrays(tree, "", arrays)
    return save(arrays, metadata={"plain": json.dumps(plain, sort_keys=True, allow_nan=False)})


def unpack(data: bytes) -> Tree:
    """The tree that `pack` was given."""
    try:
        arrays = load(data)
        size = int.from_bytes(data[:8], "little")
        plain = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["plain"])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"this is not a saved state ({error}); it cannot be read") from None
    tree = _put_arrays(plain, "", arrays)
    assert isinstance(tree, dict)
    return tree


def digest(tree: Tree) -> str:
    """A hash over every array and value of a tree."""
    return hashlib.sha256(pack(tree)).hexdigest()


def _take_arrays(tree: Any, path: str, arrays: dict[str, Array]) -> Any:
    """The tree with each array replaced by its name; the arrays go into `arrays`."""
    if isinstance(tree, dict):
        return {key: _take_arrays(value, f"{path}/{key}", arrays) for key, value in tree.items()}
    if isinstance(tree, np.ndarray):
        arrays[path] = np.ascontiguousarray(tree)
        return {"__array__": path}
    if isinstance(tree, np.generic):
        return tree.item()
    return tree


def _put_arrays(plain: Any, path: str, arrays: dict[str, Array]) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "__array__" in plain:
        return arrays[plain["__array__"]]
    return {key: _put_arrays(value, f"{path}/{key}", arrays) for key, value in plain.items()}
