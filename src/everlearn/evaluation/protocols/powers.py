"""Which learners can be asked what."""

from typing import Protocol, runtime_checkable

from everlearn.chance import FloatArray
from everlearn.errors import BadInput
from everlearn.learners import Describes, EditsMemory, Encodes, Generates, Learner, Rejects
from everlearn.learners.base.environments import Environments
from everlearn.memory import ExemplarMemory
from everlearn.streams.batch import Images


@runtime_checkable
class Imagines(Describes, Generates, Protocol):
    """Can describe images by latents, and draw what latents describe."""


@runtime_checkable
class Situates(Imagines, Protocol):
    """Can say which environment images come from, and draw as each of them shows."""

    environments: Environments

    def infer(self, images: Images) -> int:
        """The environment that a batch speaks for; -1 for one that was never met."""

    def chances(self, images: Images) -> FloatArray:
        """How likely each image comes from each environment, (n, n_known)."""


def editable_memory(learner: Learner) -> ExemplarMemory:
    """The memory that people may edit, or a complaint if this learner keeps none."""
    if not isinstance(learner, EditsMemory):
        raise BadInput(f"{_name(learner)} keeps no memory that can be edited; dcl does, for one")
    return learner.memory


def rejecting(learner: Learner) -> Rejects:
    """The learner as one that can say "I do not know this", or a complaint if it cannot."""
    if not isinstance(learner, Rejects):
        raise BadInput(f"{_name(learner)} cannot say that it does not know; dcl can, for one")
    return learner


def encoding(learner: Learner) -> Encodes:
    """The learner as one that describes images by numbers, or a complaint if it does not."""
    if not isinstance(learner, Encodes):
        raise BadInput(f"{_name(learner)} does not describe images by numbers; vase does, for one")
    return learner


def imagining(learner: Learner) -> Imagines:
    """The learner as one that describes and draws, or a complaint if it does not."""
    if not isinstance(learner, Imagines):
        raise BadInput(f"{_name(learner)} describes and draws nothing; vase and cci-vae do")
    return learner


def situated(learner: Learner) -> Situates:
    """The learner as one that tells environments apart, or a complaint if it does not."""
    if not isinstance(learner, Situates):
        raise BadInput(f"{_name(learner)} tells no environments apart; vase does")
    return learner


def _name(learner: Learner) -> str:
    return type(learner).__name__
