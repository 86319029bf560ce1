"""The dial of how good replayed patterns are, from real ones to such as say nothing of their class."""

from typing import Any

WORN_OUT = "worn 1"
LEVELS: dict[str, dict[str, Any]] = {
    "fresh": {"learner.generator_epochs": 20, "learner.generator_replay": 0},
    "worn 0.5": {"learner.wear": 0.5},
    WORN_OUT: {"learner.wear": 1.0},
}
"""What makes patterns better or worse than the paper's way, which is to learn from copies of copies.

A fresh generator studies longer, and never its own patterns. Worn patterns had a share of their activations
exchanged for those of others, of whatever class; since the generator learns from them, wear adds up.
"""
ROLES = {"PR": "positive", "NR": "negative"}


def along(scenario: str, role: str) -> dict[str, str]:
    """The names of a role's lines by how good their patterns are, the best first.

    Example:
        >>> list(along("nic", "PR").values())[:3]
        ['nic PR-OD', 'nic PR-GD, fresh', 'nic PR-GD']
    """
    generated = f"{scenario} {role}-GD"
    fresh, *worn = ((level, f"{generated}, {level}") for level in LEVELS)
    return dict([("real", f"{scenario} {role}-OD"), fresh, ("copied", generated), *worn])
