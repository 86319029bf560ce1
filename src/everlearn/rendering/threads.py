"""Sharing work among threads."""

import os
from collections.abc import Callable
from threading import Thread

import numpy as np

from everlearn.errors import BadInput

Work = Callable[[int, int], None]


def usable_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """The number of threads wanted: all usable processors if nothing is said."""
    if threads is None:
        return usable_cpus()
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise BadInput(f"threads is {threads!r}; it must be a whole number from 1 up")
    return int(threads)


def in_pieces(work: Work, n: int, piece: int, threads: int) -> None:
    """Call work(begin, end) for consecutive pieces of 0..n, several at a time.

    The caller takes pieces too, so that nothing waits while helpers wake up. Helpers live only as long as
    the call: nothing is left behind that a forked process would miss.
    """
    begins = iter(range(0, n, piece))
    failures: list[BaseException] = []

    def take() -> None:
        try:
            for begin in begins:
                work(begin, min(begin + piece, n))
        except BaseException as error:  # said again in the thread of the caller
            failures.append(error)

    helpers = [Thread(target=take) for _ in range(min(threads, -(-n // piece)) - 1)]
    for helper in helpers:
        helper.start()
    take()
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]
