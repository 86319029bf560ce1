"""Counter-based random numbers: a value depends only on its address (seed, purpose, counters).

It uses raw Philox words only, because numpy guarantees their values across versions.
"""

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, is_integer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_SEED = 2**63 - 1


class Rng:
    """Random number generator at one address.

    Example:
        >>> rng = rng_at(0, "docs")
        >>> rng.integers(4, high=10), rng.integers(4, high=10)
        (array([6, 9, 9, 5]), array([8, 0, 4, 5]))
    """

    def __init__(self, bits: np.random.Philox) -> None:
        self._bits = bits

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """`n` raw 64-bit words."""
        return np.asarray(self._bits.random_raw(n), dtype=np.uint64)

    def uniform(self, n: int, low: float = 0.0, high: float = 1.0) -> FloatArray:
        """`n` uniform numbers in [low, high)."""
        unit = (self.words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return low + (high - low) * unit

    def integers(self, n: int, high: int) -> IntArray:
        """`n` integers in [0, high); the bias is below high / 2**53."""
        return np.minimum((self.uniform(n) * high).astype(np.int64), high - 1)

    def permutation(self, n: int) -> IntArray:
        """A random permutation of 0 to n - 1."""
        return np.argsort(self.words(n), kind="stable").astype(np.int64, copy=False)

    def normal(self, n: int) -> FloatArray:
        """`n` standard normal numbers (Box-Muller)."""
        u, v = self.uniform(n), self.uniform(n)
        return np.asarray(np.sqrt(-2.0 * np.log1p(-u)) * np.cos(2.0 * np.pi * v), dtype=np.float64)


def rng_at(seed: int, purpose: str, *address: int) -> Rng:
    """The generator for a seed, a purpose and up to three non-negative counters.

    Example:
        >>> rng_at(0, "docs", 7).permutation(5)
        array([2, 3, 0, 4, 1])
    """
    if len(address) > 3:
        raise TypeError("an address has at most three counters")
    counter = [0, *address, *[0] * (3 - len(address))]
    key = [check_seed(seed), _purpose_key(purpose)]
    return Rng(np.random.Philox(counter=np.array(counter, np.uint64), key=np.array(key, np.uint64)))


def check_seed(seed: int) -> int:
    """Return the seed as an int; raise unless it is a whole number from 0 to 2**63 - 1.

    Example:
        >>> check_seed(7)
        7
        >>> check_seed(-1)
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: seed is -1; it must be a whole number from 0 to 2**63 - 1
    """
    if not is_integer(seed) or not 0 <= seed <= MAX_SEED:
        raise BadInput(f"seed is {seed!r}; it must be a whole number from 0 to 2**63 - 1")
    return int(seed)


@lru_cache(maxsize=256)
def _purpose_key(purpose: str) -> int:
    return int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "little")
