"""Checks of the capabilities of learners, with messages that name learners that have them."""

from typing import TYPE_CHECKING, Any

from everlearn.errors import BadInput
from everlearn.memory import ExemplarMemory

if TYPE_CHECKING:
    from everlearn.learners import Learner

MISSING = {
    "Decodes": ("does not decode latents to images", "vase and cci-vae"),
    "EditsMemory": ("has no exemplar memory that can be edited", "dcl"),
    "Encodes": ("does not map images to latents", "vase"),
    "HasPosterior": ("has no posterior over latents", "vase and cci-vae"),
    "InfersEnvironment": ("does not infer environments", "vase"),
    "Rejects": ("has no novelty score", "dcl"),
}
"""What a learner without a capability lacks, and examples of learners that have it."""


def require(learner: "Learner", *capabilities: str) -> Any:
    """The learner itself; raises `BadInput` if it lacks one of these capabilities of `everlearn.learners`."""
    from everlearn import learners

    for name in capabilities:
        if not isinstance(learner, getattr(learners, name)):
            lacks, example = MISSING[name]
            raise BadInput(f"{type(learner).__name__} {lacks}; use {example}")
    return learner


def editable_memory(learner: "Learner") -> ExemplarMemory:
    """The exemplar memory of a learner; raises `BadInput` if it has none."""
    memory: ExemplarMemory = require(learner, "EditsMemory").memory
    return memory
