import os
import threading

import pytest

from everlearn.rendering.render import check_threads, in_pieces, usable_cpus


@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 100])
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_row_is_worked_on_once(n: int, threads: int) -> None:
    seen = [0] * n

    def work(begin: int, end: int) -> None:
        assert end - begin <= 10
        for i in range(begin, end):
            seen[i] += 1

    in_pieces(work, n, 10, threads)
    assert seen == [1] * n


def test_work_is_shared() -> None:
    both_here, places = threading.Barrier(2, timeout=20), list[int]()
    in_pieces(lambda begin, end: places.append(both_here.wait()), 2, 1, 2)
    assert sorted(places) == [0, 1]


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def work(begin: int, end: int) -> None:
        raise ValueError(f"row {begin}")

    for threads in (1, 2):
        with pytest.raises(ValueError, match="row"):
            in_pieces(work, 4, 1, threads)


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    in_pieces(lambda begin, end: None, 100, 1, 4)
    assert threading.active_count() == before


def test_all_usable_processors_by_default() -> None:
    assert check_threads(None) == usable_cpus() <= (os.cpu_count() or 1)
    assert check_threads(3) == 3
