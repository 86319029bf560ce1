"""How the inner loops of shapes and rendering are compiled.

Compiled code is kept on disk, runs without Python's lock and is allowed no liberty with arithmetic: no
fused multiply-add, no reordering. The same bits therefore come out on every processor.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function as machine code, made when it is first called and kept for the next process.

    Example:
        >>> @compiled
        ... def twice(x: float) -> float:
        ...     return 2 * x
        >>> twice.py_func(1.5)
        3.0
    """
    machine_code: Function = njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function)
    return machine_code
