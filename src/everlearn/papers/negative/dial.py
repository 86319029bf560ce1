"""The dial by which generated patterns are worn down, and the names of lines along it."""

import re

WEARS = (0.25, 0.5, 1.0)
"""The share of activations that are exchanged, beyond the wear that comes by itself."""


def worn(variant: str) -> tuple[str, ...]:
    """The names of a variant along the dial, from patterns as they come on.

    Example:
        >>> worn("nic PR-GD")[:2]
        ('nic PR-GD', 'nic PR-GD, worn 0.25')
    """
    return (variant, *(f"{variant}, {word(wear)}" for wear in WEARS))


def word(wear: float) -> str:
    """How a place on the dial is called.

    Example:
        >>> word(1.0)
        'worn 1'
    """
    return f"worn {wear:g}"


def dialled(name: str) -> tuple[str, float]:
    """A line's name without its place on the dial, and the place.

    Example:
        >>> dialled("nic PR-GD, worn 0.5"), dialled("nic PR-GD")
        (('nic PR-GD', 0.5), ('nic PR-GD', 0.0))
    """
    found = re.fullmatch(r"(.*), worn ([\d.]+)", name)
    return (found[1], float(found[2])) if found else (name, 0.0)
