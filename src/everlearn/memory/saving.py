"""What a memory remembers, as arrays and plain facts, and how that gets on disk and back."""

import hashlib
import json
from pathlib import Path
from typing import Any, TypedDict

import safetensors
import safetensors.numpy

from everlearn import files
from everlearn.errors import BadInput
from everlearn.memory.rows import AnyArray

FORMAT = 1


class State(TypedDict):
    """All there is to know: arrays by name, and facts that JSON can hold."""

    arrays: dict[str, AnyArray]
    facts: dict[str, Any]


def digest(state: State) -> str:
    """A hash of every name, type, shape, byte and fact of a state."""
    sha = hashlib.sha256(json.dumps(state["facts"], sort_keys=True).encode())
    for name, array in sorted(state["arrays"].items()):
        sha.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def save_state(path: str | Path, kind: str, state: State) -> None:
    """Write a state as one safetensors file whose header carries the facts as JSON and a checksum."""
    about = {"kind": kind, "format": FORMAT, "sha256": digest(state), "facts": state["facts"]}
    files.write(Path(path), safetensors.numpy.save(state["arrays"], {"everlearn": json.dumps(about)}))


def open_state(path: str | Path, kind: str) -> State:
    """Read what `save_state` wrote; a file that is damaged, or of another kind, is refused."""
    try:
        with safetensors.safe_open(str(path), framework="numpy") as file:
            about = json.loads((file.metadata() or {})["everlearn"])
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
        found, version, checksum, facts = (about[key] for key in ("kind", "format", "sha256", "facts"))
    except FileNotFoundError:
        raise BadInput(f"there is no file {str(path)!r}; give the path of a saved memory") from None
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError):
        raise BadInput(f"{str(path)!r} is not a memory saved by everlearn, or it is damaged") from None
    if version != FORMAT:
        raise BadInput(f"{str(path)!r} has format {version}; this everlearn reads format {FORMAT}")
    if found != kind:
        raise BadInput(f"{str(path)!r} holds {found!r}; {kind!r} was expected")
    state = State(arrays=arrays, facts=facts)
    if digest(state) != checksum:
        raise BadInput(f"{str(path)!r} is damaged: its checksum does not fit; use a copy of it")
    return state
