"""Runs that do not fit into memory: refused where that can be foreseen, ended with a sentence where not."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.runs.spec import RunSpec
from everlearn.streams import Stream

NO_MEMORY = ("can't allocate memory", "out of memory", "bad_alloc", "could not create a primitive")
"""What torch, and oneDNN inside it, say of memory, in errors that are also raised for other reasons."""


class OutOfMemory(BadInput):
    """The machine has no more memory to give; what was saved is untouched."""


def check_size(spec: RunSpec, stream: Stream) -> None:
    """Refuse what cannot fit before any of it is asked for."""
    pixels = math.prod(stream.image_shape)
    needed = pixels * (spec.evaluation.probe_size + np.dtype(np.float32).itemsize * spec.batch_size)
    there_is = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there_is:
        raise BadInput(
            f"batches of {spec.batch_size:,} and a probe of {spec.evaluation.probe_size:,} images need "
            f"{needed / 1e9:,.0f} GB, but there are {there_is / 1e9:,.0f}; make them or image_size smaller"
        )


@contextmanager
def told_of_memory(folder: Path) -> Iterator[None]:
    """Turn a lack of memory into a sentence."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY):
            raise OutOfMemory(
                f"memory ran out ({error}); nothing saved was lost: free some and go on with "
                f"`everlearn resume {folder}`"
            ) from error
        raise
