"""An exemplar memory past RAM.

Takes in images with their labels, one or a million. Keeps the images on disk and 72 bytes of each in RAM.
Gives out the nearest images to one it is shown, and forgets without a trace: `Shelf`.
"""

from everlearn.memory.on_disk.store import Shelf

__all__ = ["Shelf"]
