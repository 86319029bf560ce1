"""A small, fair sample of all that has been seen, at the same price however much that is."""

import numpy as np
import numpy.typing as npt

from everlearn.chance import IntArray, draws
from everlearn.streams.scenarios.scenario import Rows, Seen
from everlearn.streams.source import Source

Words = npt.NDArray[np.uint64]

FEISTEL_ROUNDS = 6


def probe_rows(source: Source, seen: Seen, *, size: int, seed: int) -> Rows:
    """At most `size` test rows, spread over the seen classes so that counts differ by at most one.

    A class gives fewer only if it has no more test pictures. As classes are added the sample changes
    little: the classes in it keep the front of their list, and who is in it follows one fixed order,
    drawn anew only when the number of classes passes a power of two.
    """
    each, more = divmod(size, len(seen))
    favoured = seen.classes(first_of_order(len(seen), more, seed))
    if each == 0:
        counts = {int(c): 1 for c in np.sort(favoured)}
    else:
        lucky = set(favoured.tolist())
        counts = {int(c): each + (int(c) in lucky) for c in np.sort(seen.classes(np.arange(len(seen))))}
    return Rows.concatenate(_some(source, class_id, n, seed) for class_id, n in counts.items())


def first_of_order(n: int, k: int, seed: int) -> IntArray:
    """The first k of the numbers 0..n-1 in a random order, without making the whole order.

    The order is that of a Feistel permutation of 0..4**b-1 with the numbers from n on left out.

    Example:
        >>> first_of_order(10**15, 3, seed=0).shape
        (3,)
        >>> sorted(first_of_order(7, 7, seed=0).tolist())
        [0, 1, 2, 3, 4, 5, 6]
    """
    half_bits = max(1, (max(n - 1, 1).bit_length() + 1) // 2)
    keys = draws(seed, "probe order", half_bits).words(FEISTEL_ROUNDS)
    found: list[IntArray] = []
    start, domain = 0, 1 << (2 * half_bits)
    while sum(map(len, found)) < k:
        stop = min(start + 4 * k + 16, domain)
        order = _feistel(np.arange(start, stop, dtype=np.uint64), half_bits, keys)
        found.append(order[order < n].astype(np.int64))
        start = stop
    return np.concatenate([*found, np.zeros(0, np.int64)])[:k]


def _feistel(numbers: Words, half_bits: int, keys: Words) -> Words:
    bits, mask = np.uint64(half_bits), np.uint64((1 << half_bits) - 1)
    left, right = numbers >> bits, numbers & mask
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & mask)
    return (left << bits) | right


def _mix(words: Words) -> Words:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _some(source: Source, class_id: int, n: int, seed: int) -> Rows:
    pool = source.pool(class_id, "test")
    return Rows.of_class(class_id, pool[draws(seed, "probe", class_id).permutation(len(pool))[:n]])
