"""The dial by which generated patterns are made worse, and the names of lines along it."""

import re

NOISES = (1.0, 2.0, 4.0)
"""How bad generated patterns are made, beyond what they are by themselves."""


def noisy(variant: str) -> tuple[str, ...]:
    """The names of a variant at all noises, from none on.

    Example:
        >>> noisy("nic PR-GD")[:2]
        ('nic PR-GD', 'nic PR-GD, noise 1')
    """
    return (variant, *(f"{variant}, noise {noise:g}" for noise in NOISES))


def dialled(name: str) -> tuple[str, float]:
    """A line's name without its noise, and the noise.

    Example:
        >>> dialled("nic PR-GD, noise 0.5"), dialled("nic PR-GD")
        (('nic PR-GD', 0.5), ('nic PR-GD', 0.0))
    """
    found = re.fullmatch(r"(.*), noise ([\d.]+)", name)
    return (found[1], float(found[2])) if found else (name, 0.0)
