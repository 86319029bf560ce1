"""Decorators that compile functions with numba.

Compiled code is cached on disk and releases the GIL. Except in `compiled_sums` it keeps IEEE arithmetic: no
fused multiply-add, no reordering. Results are therefore bit-identical on all processors.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.runtime.nrt import rtsys

Function = TypeVar("Function", bound=Callable[..., Any])
ZERO = cast(int, np.int64(0))
"""Zero that is not a literal: numba compiles a separate version of a function for each literal argument."""


def compiled(function: Function) -> Function:
    """Compile a function on its first call and cache the machine code on disk.

    Only for functions at module level: numba cannot cache closures.
    """
    return _cached(function, fastmath=False)


def compiled_in_place(function: Function) -> Function:
    """Compile a function that allocates nothing, and calls only such functions.

    Numba then need not count references to arrays; these atomic instructions would take a quarter of the time
    of a small image.
    """
    return _cached(function, fastmath=False, _nrt=False)


def compiled_sums(function: Function) -> Function:
    """Compile a function whose sums may be reordered, so that they are vectorized.

    The last digits differ between processors, as those of matrix products do.
    """
    return _cached(function, fastmath={"reassoc", "contract", "nsz"})


def _cached(function: Function, *, fastmath: bool | set[str], **more: bool) -> Function:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, **more}
    machine_code = njit(cache=True, fastmath=fastmath, **options)(function)
    # Numba invalidates its cache when the function's own file changes, but not when a function that it calls
    # in another file does. A test fails if a numba release ignores this stamp.
    package = Path(function.__code__.co_filename).parent
    dispatcher: Any = machine_code
    dispatcher._cache._cache_file._source_stamp = _source_hash(package) + _source_hash(Path(__file__).parent)
    _load_only_machine_code(dispatcher._cache)
    return cast(Function, machine_code)  # called like the function itself


def _load_only_machine_code(cache: Any) -> None:
    """Load cached machine code without numba's implementations of Python and NumPy.

    These, and SciPy, which they import, take half a second, and are needed only to compile. Numba imports
    them before it compiles anything.
    """

    def load_overload(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)  # reference counts, which machine code needs
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    cache.load_overload = load_overload


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether machine code of a compiled function is on disk."""
    dispatcher: Any = function
    return bool(dispatcher._cache._cache_file._load_index())


@lru_cache(maxsize=8)
def _source_hash(package: Path) -> bytes:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(package.glob("*.py")))).digest()


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers; for inner steps with many array arguments."""
    return cast(Function, njit(inline="always", error_model="numpy", boundscheck=False)(function))
