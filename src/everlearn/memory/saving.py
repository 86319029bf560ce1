"""What a memory remembers, as arrays and plain facts, and how that gets on disk and back."""

from pathlib import Path
from typing import Any, TypedDict

from everlearn import files
from everlearn.errors import BadInput
from everlearn.memory.packing import Tree, digest, pack, unpack
from everlearn.memory.rows import AnyArray

FORMAT = 1


class State(TypedDict):
    """All there is to know: arrays by name, and facts that JSON can hold."""

    arrays: dict[str, AnyArray]
    facts: dict[str, Any]


def save_state(path: str | Path, kind: str, state: State) -> None:
    """Write a state, its kind and a checksum to one safetensors file; equal states make equal files."""
    arrays, facts = (dict(sorted(part.items())) for part in (state["arrays"], state["facts"]))
    about = {"kind": kind, "format": FORMAT, "sha256": digest({"arrays": arrays, "facts": facts})}
    files.write(Path(path), pack({**about, "arrays": arrays, "facts": facts}))


def open_state(path: str | Path, kind: str) -> State:
    """Read what `save_state` wrote; a file that is damaged, or of another kind, is refused."""
    tree = _read(Path(path))
    found, version, checksum = (tree.get(name) for name in ("kind", "format", "sha256"))
    if checksum is None:
        raise BadInput(f"{str(path)!r} is not a memory saved by everlearn; give one that is")
    if version != FORMAT:
        raise BadInput(f"{str(path)!r} has format {version}; this everlearn reads format {FORMAT}")
    if found != kind:
        raise BadInput(f"{str(path)!r} holds {found!r}; {kind!r} was expected")
    state = State(arrays=tree.get("arrays", {}), facts=tree.get("facts", {}))
    if digest({**state}) != checksum:
        raise BadInput(f"{str(path)!r} is damaged: its checksum does not fit; use a copy of it")
    return state


def _read(path: Path) -> Tree:
    try:
        return unpack(path.read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no file {str(path)!r}; give the path of a saved memory") from None
    except BadInput:
        raise BadInput(f"{str(path)!r} is not a memory saved by everlearn, or it is damaged") from None
