"""What is kept of the past.

Takes in batches of images with their labels and whatever else belongs to them. Gives out the exemplars of a
class, or fair, balanced or typical samples to rehearse, and the bytes they cost: `ExemplarMemory` is edited
by hand and saved in one file, `Shelf` stays on disk and holds a million; `Reservoir`, `ClassBalanced` and
`Herding` choose for themselves.
"""

from typing import TYPE_CHECKING, Any

from everlearn.memory.base import Memory, Sample, State, open_state, save_state
from everlearn.memory.buffers import ClassBalanced, Herding, Reservoir, herd
from everlearn.memory.exemplars import Exemplar, ExemplarMemory
from everlearn.serialization import digest, pack, unpack

if TYPE_CHECKING:
    from everlearn.memory.on_disk import Shelf

__all__ = [
    "ClassBalanced",
    "Exemplar",
    "ExemplarMemory",
    "Herding",
    "Memory",
    "Reservoir",
    "Sample",
    "Shelf",
    "State",
    "digest",
    "herd",
    "open_state",
    "pack",
    "save_state",
    "unpack",
]


def __getattr__(name: str) -> Any:
    if name == "Shelf":  # loaded when first used: it brings the compiler
        from everlearn.memory.on_disk import Shelf

        return Shelf
    raise AttributeError(f"module 'everlearn.memory' has no attribute {name!r}")
