"""The number of threads of numpy's matrix products.

Packages of numpy contain OpenBLAS, whose threads wait for work in busy loops. They slow down other threads,
and cost more than they save for small matrices.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")
"""Names of functions in the builds of OpenBLAS that packages of numpy contain."""


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """Context in which numpy's matrix products use n threads, if numpy uses OpenBLAS.

    Example:
        >>> with blas_threads(1):
        ...     print(np.ones((2, 3)) @ np.ones(3))
        [3. 3.]
    """
    found = openblas()
    before = [get() for get, _ in found]
    for _, set_number in found:
        set_number(n)
    try:
        yield
    finally:
        for (_, set_number), number in zip(found, before, strict=True):
            set_number(number)


@cache
def openblas() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Functions that get and set the number of threads of numpy's OpenBLAS; none with another library."""
    for path in Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))  # numpy has loaded it
        for name in NAMES:
            get, set_number = (getattr(library, name.format(each), None) for each in ("get", "set"))
            if get and set_number:
                return [(get, set_number)]
    return []
