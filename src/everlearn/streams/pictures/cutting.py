"""How the pictures of a class, however many there are, are divided among the splits."""

from math import ceil

from everlearn.chance import IntArray
from everlearn.streams.splits import Shares
from everlearn.streams.task import Split

Cut = dict[Split, IntArray]


def cut_all(numbers: IntArray, shares: Shares) -> Cut:
    """Pictures in random order, cut in three: test first, as it judges; at least one is left to learn from.

    Of shares, test is rounded up and val down. A class too small for what was asked gives what it can.

    Example:
        >>> import numpy as np
        >>> {name: len(part) for name, part in cut_all(np.arange(20), (0.7, 0.1, 0.2)).items()}
        {'train': 14, 'val': 2, 'test': 4, 'held_out': 0}
        >>> {name: len(part) for name, part in cut_all(np.arange(3), (10, 5, 5)).items()}
        {'train': 1, 'val': 0, 'test': 2, 'held_out': 0}
    """
    n_test = min(_up(shares[2], len(numbers)), len(numbers) - 1)
    return cut(numbers[n_test:], numbers[:n_test], shares, n=len(numbers))


def cut(ours: IntArray, test: IntArray, shares: Shares, n: int | None = None) -> Cut:
    """Pictures in random order cut in two, beside test pictures that were set aside before.

    Args:
        ours: the pictures for train and val.
        test: the pictures for test; only a count shortens them.
        shares: counts for train, val and test, or shares.
        n: what val's share is of; what train and val together are of everything else if not said.
    """
    train_count, val_count, test_count = shares
    whole = isinstance(train_count, int)
    of = n or len(ours) / (train_count + val_count)
    n_val = min(int(val_count if whole else round(val_count * of, 6)), len(ours) - 1)
    n_train = min(int(train_count), len(ours) - n_val) if whole else len(ours) - n_val
    return {
        "train": ours[n_val : n_val + n_train],
        "val": ours[:n_val],
        "test": test[: int(test_count)] if whole else test,
        "held_out": ours[:0],
    }


def _up(share: float, n: int) -> int:
    # Rounded first: 0.2 x 15 must be 3 and not the next whole number above 3.0000000000000004.
    return share if isinstance(share, int) else ceil(round(share * n, 6))
