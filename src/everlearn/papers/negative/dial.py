"""The dial of how good replayed patterns are, from real ones to such as say nothing of their class."""

from typing import Any

WORN_OUT = "worn 1"
LEVELS: dict[str, dict[str, Any]] = {
    "worn 0.5": {"learner.wear": 0.5},
    "unguided": {"learner.eta": 0.0},
    WORN_OUT: {"learner.wear": 1.0},
}
"""What makes patterns worse than the paper's way, which is to learn from copies of copies; the best first.

Worn patterns had a share of their activations exchanged for those of others, of whatever class; since the
generator learns from them, wear adds up. An unguided generator is not told what the classifier thinks of its
patterns, and they become those of other classes by themselves.
"""
ROLES = {"PR": "positive", "NR": "negative"}


def along(scenario: str, role: str) -> dict[str, str]:
    """The names of a role's lines by how good their patterns are, the best first.

    Example:
        >>> list(along("nic", "PR").values())[:3]
        ['nic PR-OD', 'nic PR-GD', 'nic PR-GD, worn 0.5']
    """
    generated = f"{scenario} {role}-GD"
    worse = {level: f"{generated}, {level}" for level in LEVELS}
    return {"real": f"{scenario} {role}-OD", "copied": generated, **worse}
