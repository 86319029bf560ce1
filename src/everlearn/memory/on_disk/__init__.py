"""An exemplar memory on disk, for more images than fit in RAM."""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.memory.on_disk.store import OnDiskMemory

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
