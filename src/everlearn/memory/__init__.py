"""Exemplar memories and replay buffers.

`ExemplarMemory` is edited by hand and saved in one file; `OnDiskMemory` holds a million classes on disk.
`Reservoir`, `ClassBalanced` and `Herding` are replay buffers that select images of a stream.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.memory.base import ReplayBuffer, Sample, State, open_state, save_state
    from everlearn.memory.buffers import ClassBalanced, Herding, Reservoir, herd
    from everlearn.memory.exemplars import ExemplarInfo, ExemplarMemory
    from everlearn.memory.on_disk import OnDiskMemory

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
