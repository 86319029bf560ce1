"""Exemplar memories and replay buffers.

`ExemplarMemory` is edited by hand and saved in one file; `OnDiskMemory` holds a million classes on disk.
`Reservoir`, `ClassBalanced` and `Herding` are replay buffers that select images of a stream.
"""

from typing import TYPE_CHECKING, Any

from everlearn.memory.base import ReplayBuffer, Sample, State, open_state, save_state
from everlearn.memory.buffers import ClassBalanced, Herding, Reservoir, herd
from everlearn.memory.exemplars import Exemplar, ExemplarMemory
from everlearn.serialization import digest, pack, unpack

if TYPE_CHECKING:
    from everlearn.memory.on_disk import OnDiskMemory

__all__ = [
    "ClassBalanced",
    "Exemplar",
    "ExemplarMemory",
    "Herding",
    "OnDiskMemory",
    "ReplayBuffer",
    "Reservoir",
    "Sample",
    "State",
    "digest",
    "herd",
    "open_state",
    "pack",
    "save_state",
    "unpack",
]


def __getattr__(name: str) -> Any:
    if name == "OnDiskMemory":  # imported on first use: it needs numba
        from everlearn.memory.on_disk import OnDiskMemory

        return OnDiskMemory
    raise AttributeError(f"module 'everlearn.memory' has no attribute {name!r}")
