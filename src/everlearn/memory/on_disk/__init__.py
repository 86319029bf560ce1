"""An exemplar memory on disk, for more images than fit in RAM."""

from everlearn.memory.on_disk.store import OnDiskMemory

__all__ = ["OnDiskMemory"]
