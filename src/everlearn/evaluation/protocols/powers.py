"""Which learners can be asked what."""

from everlearn.errors import BadInput
from everlearn.learners import EditsMemory, Learner, Rejects
from everlearn.memory import ExemplarMemory


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


def _name(learner: Learner) -> str:
    return type(learner).__name__
