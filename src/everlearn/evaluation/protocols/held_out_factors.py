"""How a learner fares in poses that nobody trained."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from everlearn.errors import BadInput, check_range
from everlearn.evaluation.metrics import factor_errors
from everlearn.evaluation.protocols.base import MAX_IMAGES, some_tasks
from everlearn.learners import EstimatesFactors, Learner
from everlearn.streams import Batch, Stream


@dataclass(frozen=True)
class Transfer:
    """Accuracy in factor combinations that were trained, and in those that were not.

    Attributes:
        trained: accuracy on test images in combinations that other images of training had.
        held_out: accuracy on images in combinations that no training image of the stream had.
        trained_errors: mean error in each factor, for learners that estimate factors.
        held_out_errors: the same in the combinations held out.
    """

    n_trained: int
    n_held_out: int
    trained: float
    held_out: float
    trained_errors: dict[str, float] = field(default_factory=dict)
    held_out_errors: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The answers as plain JSON values."""
        return asdict(self)


def transfer(learner: Learner, stream: Stream, n_tasks: int, *, size: int = 1000) -> Transfer:
    """Compare a learner's answers in trained factor combinations with those in combinations held out.

    Args:
        learner: any.
        stream: what it met, with some combinations held out.
        n_tasks: how many tasks of the stream the learner met.
        size: images of each kind.
    """
    check_range("size", size, 1, MAX_IMAGES)
    held_out = some_tasks(stream, n_tasks, "held_out", size)
    if not len(held_out):
        raise BadInput(
            f"{stream.id} holds no factor combinations out; play it with some held out, as in "
            "--set stream.held_out=25"
        )
    trained = some_tasks(stream, n_tasks, "test", size)
    return Transfer(
        n_trained=len(trained),
        n_held_out=len(held_out),
        trained=_accuracy(learner, stream, trained),
        held_out=_accuracy(learner, stream, held_out),
        trained_errors=_errors(learner, trained),
        held_out_errors=_errors(learner, held_out),
    )


def _accuracy(learner: Learner, stream: Stream, batch: Batch) -> float:
    answers = learner.predict(batch.images, batch.tasks if stream.provides_task_ids else None)
    return float(np.mean(answers == batch.labels))


def _errors(learner: Learner, batch: Batch) -> dict[str, float]:
    if not isinstance(learner, EstimatesFactors) or batch.factors is None:
        return {}
    return factor_errors(learner.estimate(batch.images), batch.factors)
