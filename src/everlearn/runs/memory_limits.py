"""Memory of this machine: checks that runs fit, advice after failed allocations, reuse of freed memory."""

import ctypes
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
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
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt, from malloc.h of glibc."""
KEPT_BYTES = 1 << 28
"""The process keeps freed blocks up to this size, and as much free memory."""


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


@cache
def keep_freed_memory() -> bool:
    """Let this process keep freed memory; returns whether it does, which needs the allocator of glibc.

    By default large blocks go back to the system after each training step, and the system clears every page
    of new ones for the next step: thousands of page faults per step of a small network with many labels.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)) and bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
