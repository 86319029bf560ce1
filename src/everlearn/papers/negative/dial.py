"""The dial of how good replayed patterns are, from real ones to such as say nothing of their class."""

from typing import Any

FRESH, WORN_HALF, WORN_OUT = "fresh", "worn 0.5", "worn 1"
LEVELS: dict[str, dict[str, Any]] = {
    FRESH: {"learner.generator_epochs": 20, "learner.generator_replay": 0},
    WORN_HALF: {"learner.wear": 0.5},
    WORN_OUT: {"learner.wear": 1.0},
}
"""Generated patterns that are better or worse than the paper's way of making them gives.

A fresh generator studies longer, and never its own patterns. Worn patterns had a share of their activations
exchanged for those of others, of whatever class; since the generator learns from them, wear adds up.
"""


def along(scenario: str, role: str) -> dict[str, str]:
    """The names of a role's lines by how good their patterns are, the best first.

    Example:
        >>> along("nic", "PR")["fresh"], along("nic", "PR")["copied"]
        ('nic PR-GD, fresh', 'nic PR-GD')
    """
    generated = f"{scenario} {role}-GD"
    worn = {level: f"{generated}, {level}" for level in (WORN_HALF, WORN_OUT)}
    return {"real": f"{scenario} {role}-OD", FRESH: f"{generated}, {FRESH}", "copied": generated, **worn}


def level(name: str) -> str:
    """The level that a line's name says, or none.

    Example:
        >>> level("nic PR-GD, fresh"), level("nic PR-GD")
        ('fresh', '')
    """
    return name.partition(", ")[2]
