import os

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Capacity
from everlearn.runs.sweep.executors import available_bytes, resident_bytes

NO_PROCESS = 2**22 + 1
"""Larger than any process id."""


def test_default_is_one_worker_per_core() -> None:
    assert Capacity().local_workers == len(os.sched_getaffinity(0))
    assert Capacity().threads == 1


def test_number_of_workers_is_limited() -> None:
    two = Capacity(workers=2, memory=0)
    assert two.has_capacity([NO_PROCESS])
    assert not two.has_capacity([NO_PROCESS, NO_PROCESS])


def test_second_process_needs_memory_for_both() -> None:
    large = Capacity(workers=4, memory=int(0.75 * available_bytes()))
    assert large.has_capacity([])
    assert not large.has_capacity([NO_PROCESS])  # it has not allocated its memory yet
    small = Capacity(workers=4, memory=int(0.2 * available_bytes()))
    assert small.has_capacity([NO_PROCESS])


def test_memory_is_in_bytes() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 1_000_000 < resident_bytes(os.getpid()) < total
    assert 1_000_000 < available_bytes() <= total
    assert resident_bytes(NO_PROCESS) == 0


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"threads": -1}, {"memory": -1}, {"workers": 10**6}, {"gpus": -1}]
)
def test_invalid_capacity_is_rejected(options: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="it must be between"):
        Capacity(**options)
