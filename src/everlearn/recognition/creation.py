"""A new memory: its columns, its settings and a copy of its weights."""

from pathlib import Path

from everlearn.memory import OnDiskMemory
from everlearn.recognition.columns import column_types
from everlearn.recognition.exemplars import SIZE
from everlearn.recognition.features import make_features

VERSION = 4
"""The version of the stored columns."""
WEIGHTS = "features.safetensors"
"""The file of weights in the folder of a memory."""


def create(folder: Path, features: str, weights: Path | None, *, upright: bool) -> None:
    """Create an empty memory in a new or empty folder.

    Args:
        folder: of the memory.
        features: by name.
        weights: a file that is copied.
        upright: whether things are always seen upright.
    """
    made = make_features(features, weights)
    columns = column_types(made, upright=upright)
    settings = {"features": made.name, "upright": upright, "images": 0, "version": VERSION}
    attached = {} if weights is None else {WEIGHTS: weights.read_bytes()}
    # All is written before the memory exists, so that an interrupted call leaves none that is incomplete.
    OnDiskMemory.create(
        folder, image_shape=(SIZE, SIZE, 4), columns=columns, settings=settings, attached=attached
    ).close()
