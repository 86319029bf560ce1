import platform
from pathlib import Path

import pytest
import torch

from everlearn.runs.memory_limits import OutOfMemory, keep_freed_memory, memory_error_context

ERRORS = {
    "numpy or Python": MemoryError("no space"),
    "torch": RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    "oneDNN": RuntimeError("could not create a primitive"),
}


@pytest.mark.parametrize("source", ERRORS)
def test_failed_allocation_says_how_to_continue(source: str) -> None:
    message = r"out of memory \(.*\); .*`everlearn resume records/mine`"
    with pytest.raises(OutOfMemory, match=message), memory_error_context(Path("records/mine")):
        raise ERRORS[source]


def test_torch_reports_a_failed_allocation_as_expected() -> None:
    with pytest.raises(OutOfMemory), memory_error_context(Path("records/mine")):
        torch.empty(2**50)


def test_other_errors_are_not_changed() -> None:
    with pytest.raises(RuntimeError, match="shapes differ"), memory_error_context(Path("records/mine")):
        raise RuntimeError("shapes differ")


def test_freed_memory_is_kept_where_the_allocator_can() -> None:
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
