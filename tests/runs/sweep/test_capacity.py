import os

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Capacity
from everlearn.runs.sweep.executors import free_bytes, resident_bytes

NOBODY = 2**22 + 1
"""More than any process's number can be."""


def test_as_many_as_there_are_cores_if_nobody_says() -> None:
    assert Capacity().here == len(os.sched_getaffinity(0))
    assert Capacity().threads == 1


def test_no_more_than_the_workers() -> None:
    two = Capacity(workers=2, memory=0)
    assert two.has_room([NOBODY])
    assert not two.has_room([NOBODY, NOBODY])


def test_one_may_always_work_and_another_only_if_memory_is_left_for_both() -> None:
    greedy = Capacity(workers=4, memory=int(0.75 * free_bytes()))
    assert greedy.has_room([])
    assert not greedy.has_room([NOBODY])  # it has taken nothing yet, and will
    modest = Capacity(workers=4, memory=int(0.2 * free_bytes()))
    assert modest.has_room([NOBODY])


def test_memory_is_told_in_bytes() -> None:
    there_is = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 1_000_000 < resident_bytes(os.getpid()) < there_is
    assert 1_000_000 < free_bytes() <= there_is
    assert resident_bytes(NOBODY) == 0


@pytest.mark.parametrize(
    "bad", [{"workers": 0}, {"threads": -1}, {"memory": -1}, {"workers": 10**6}, {"gpus": -1}]
)
def test_what_cannot_be_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="it must be between"):
        Capacity(**bad)
