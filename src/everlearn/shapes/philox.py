"""Counter-based random numbers for compiled code: Philox4x32-10 (Salmon et al. 2011)."""

import math

import numpy as np

from everlearn.shapes.jit import compiled_in_place

Word = np.uint64
Words = tuple[Word, Word, Word, Word]

_MULTIPLIER_0 = Word(0xD2511F53)
_MULTIPLIER_1 = Word(0xCD9E8D57)
_WEYL_0 = Word(0x9E3779B9)
_WEYL_1 = Word(0xBB67AE85)
_LOW = Word(0xFFFFFFFF)
_HALF = Word(32)
_DROPPED = Word(12)  # leaves 52 bits, so that adding one half is exact
_ROUNDS = 10


@compiled_in_place
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> Words:
    """Four random 32-bit words for a counter of four words and a key of two words."""
    for _ in range(_ROUNDS):
        p0 = _MULTIPLIER_0 * c0
        p1 = _MULTIPLIER_1 * c2
        c0, c2 = (p1 >> _HALF) ^ c1 ^ k0, (p0 >> _HALF) ^ c3 ^ k1
        c1, c3 = p1 & _LOW, p0 & _LOW
        k0 = (k0 + _WEYL_0) & _LOW
        k1 = (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@compiled_in_place
def words(seed: Word, index: Word, block: int, purpose: int) -> Words:
    """The words of one block at the address (seed, index, purpose)."""
    return philox(index & _LOW, index >> _HALF, Word(block), Word(purpose), seed & _LOW, seed >> _HALF)


@compiled_in_place
def uniform(high: Word, low: Word) -> float:
    """A uniform number in (0, 1) from two words."""
    bits = ((high << _HALF) | low) >> _DROPPED
    return (float(bits) + 0.5) * 2.0**-52


@compiled_in_place
def normal_pair(seed: Word, index: Word, block: int, purpose: int) -> tuple[float, float]:
    """Two independent standard normal numbers (Box-Muller)."""
    w0, w1, w2, w3 = words(seed, index, block, purpose)
    radius = math.sqrt(-2.0 * math.log(uniform(w0, w1)))
    angle = 2.0 * math.pi * uniform(w2, w3)
    return radius * math.cos(angle), radius * math.sin(angle)
