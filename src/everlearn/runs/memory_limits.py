"""Memory of this machine: runs that cannot fit are refused, failed allocations are reported with advice."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

from everlearn.errors import BadInput
from everlearn.runs.spec import RunSpec
from everlearn.streams import Stream

OUT_OF_MEMORY_MESSAGES = (
    "can't allocate memory",
    "out of memory",
    "bad_alloc",
    "could not create a primitive",
)
"""Parts of messages with which torch and oneDNN report a failed allocation as a RuntimeError."""


class OutOfMemory(BadInput):
    """An allocation failed; the record is intact.

    Example:
        >>> with memory_error_context(Path("records/er")):
        ...     raise MemoryError("16 GB")
        Traceback (most recent call last):
        ...
        everlearn.runs.memory_limits.OutOfMemory: out of memory (16 GB); the record is intact: free some ...
    """


def check_memory(spec: RunSpec, stream: Stream) -> None:
    """Raise an error if images of the run cannot fit into the memory of this machine."""
    n_eval = max(spec.evaluation.n_images, spec.evaluation.n_final_images or 0)
    needed = math.prod(stream.image_shape) * (n_eval + np.dtype(np.float32).itemsize * spec.batch_size)
    total = psutil.virtual_memory().total
    if needed > total:
        raise BadInput(
            f"batches of {spec.batch_size:,} and {n_eval:,} evaluation images need {needed / 1e9:,.0f} GB, "
            f"but this machine has {total / 1e9:,.0f} GB; reduce them or image_size"
        )


@contextmanager
def memory_error_context(folder: Path) -> Iterator[None]:
    """Raise failed allocations as `OutOfMemory` with advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or any(part in str(error) for part in OUT_OF_MEMORY_MESSAGES):
            raise OutOfMemory(
                f"out of memory ({error}); the record is intact: free some memory and continue with "
                f"`everlearn resume {folder}`"
            ) from error
        raise
