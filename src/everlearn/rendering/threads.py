"""Sharing work among threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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

    Threads live only as long as the call: nothing is left behind that a forked process would miss.
    """
    begins = range(0, n, piece)
    threads = min(threads, len(begins))
    if threads <= 1:
        for begin in begins:
            work(begin, min(begin + piece, n))
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, begin, min(begin + piece, n)) for begin in begins]:
            done.result()
