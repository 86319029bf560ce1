"""How the inner loops of shapes and rendering are compiled.

Compiled code is kept on disk, runs without Python's lock and is allowed no liberty with arithmetic: no
fused multiply-add, no reordering. The same bits therefore come out on every processor.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function as machine code, made when it is first called and kept for the next process.

    Only for functions at the top of a module: what is made inside another function cannot be kept.
    """
    machine_code = njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function)
    # Numba would keep code for as long as the function's own file stays the same, though functions it
    # calls in other files may have changed. A test says so if a new numba no longer listens to this.
    room = Path(function.__code__.co_filename).parent
    kept: Any = machine_code
    kept._cache._cache_file._source_stamp = _stamp(room) + _stamp(Path(__file__).parent)
    # What numba makes is called exactly like the function it was made from.
    return cast(Function, machine_code)


@lru_cache(maxsize=8)
def _stamp(room: Path) -> bytes:
    """A hash of all source code in a room."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(room.glob("*.py")))).digest()


def inlined(function: Function) -> Function:
    """As `compiled`, for a step of a larger loop: becomes part of each function that calls it.

    Worth it where many arrays are handed on, each of which a call would count in and out again.
    """
    return cast(Function, njit(inline="always", error_model="numpy", boundscheck=False)(function))
