"""How many pictures of a class are for learning, for choosing settings, for judging."""

from everlearn.errors import BadInput

Shares = tuple[int, int, int] | tuple[float, float, float]
"""Pictures per class for train, val and test, as counts or as shares that add up to 1."""


def split_sizes(n: int, shares: Shares) -> tuple[int, int, int]:
    """How many of a class's n pictures go to train, val and test.

    Shares leave at least one picture for each; of counts, only val may be 0, and what they leave over
    is not used.

    Example:
        >>> split_sizes(625, (0.96, 0.024, 0.016))
        (600, 15, 10)
        >>> split_sizes(16, (0.96, 0.024, 0.016))
        (14, 1, 1)
        >>> split_sizes(625, (100, 0, 25))
        (100, 0, 25)
    """
    if all(isinstance(share, int) for share in shares):
        train, val, test = (int(share) for share in shares)
    else:
        val, test = (max(1, round(n * share)) for share in shares[1:])
        train = n - val - test
    if min(train, test) < 1 or val < 0 or train + val + test > n:
        raise BadInput(
            f"{n} pictures per class cannot be split into {train} for train, {val} for val and {test} for "
            "test; train and test need at least one each"
        )
    return train, val, test


def check_shares(shares: Shares) -> Shares:
    """The shares themselves, or a complaint if they can split nothing."""
    whole = all(isinstance(share, int) for share in shares)
    if min(shares) < 0 or min(shares[0], shares[2]) == 0 or not (whole or abs(sum(shares) - 1) < 1e-9):
        raise BadInput(
            f"split is {shares}; give three counts per class or three shares that add up to 1, "
            "with something for train and test"
        )
    return shares
