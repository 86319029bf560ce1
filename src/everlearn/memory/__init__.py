"""What is kept of the past.

Takes in batches of images with their labels and whatever else belongs to them. Gives out the exemplars of a
class, or fair, balanced or typical samples to rehearse, and the bytes they cost: `ExemplarMemory` is edited
by hand and saved in one file, `Shelf` stays on disk and holds a million; `Reservoir`, `ClassBalanced` and
`Herding` choose for themselves.
"""

from typing import TYPE_CHECKING, Any

from everlearn.memory.class_balanced import ClassBalanced
from everlearn.memory.exemplars import Exemplar, ExemplarMemory
from everlearn.memory.herding import Herding, herd
from everlearn.memory.memory import Memory, Sample
from everlearn.memory.packing import digest, pack, unpack
from everlearn.memory.reservoir import Reservoir
from everlearn.memory.saving import State, open_state, save_state

if TYPE_CHECKING:
    from everlearn.memory.shelf import Shelf

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
        from everlearn.memory.shelf import Shelf

        return Shelf
    raise AttributeError(f"module 'everlearn.memory' has no attribute {name!r}")
