"""Answer-cost protocol: floating-point operations and milliseconds of one prediction."""

import time
from typing import Annotated, Any

from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import base
from everlearn.evaluation.samples import predict
from everlearn.streams import Batch, Stream

MIN_BATCHES = 3
"""One to warm up, one to measure the time, one to count operations."""


class AnswerCostResult(base.Result):
    """Cost of the prediction of one label."""

    n_images: int
    flops: float | None  # None if the learner predicts without torch
    milliseconds: float  # in batches, on this machine

    def table(self) -> base.Table:
        rows = [("FLOPs of an answer", self.flops), ("milliseconds of an answer", self.milliseconds)]
        return base.Table(("measure", "value"), rows)


class AnswerCost(base.Protocol[AnswerCostResult]):
    """Cost of one answer: operations of convolutions and matrix products, and milliseconds.

    Two operations are counted for each multiply-add in torch, as for training. Operations of compiled code,
    such as the search of exemplars, are not counted, but its time is.
    """

    n_images: base.NImages = 1000
    """Test images that are predicted, once each, since a learner may cache its predictions."""
    n_batches: Annotated[int, Field(ge=MIN_BATCHES, le=1000)] = 5
    """Equal batches: the first is a warm-up, operations are counted in the last, the others are timed."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> AnswerCostResult:
        sample = stream.eval_sample(n_tasks, self.n_images)
        n = min(self.n_batches, len(sample))
        if n < MIN_BATCHES:
            raise BadInput(f"{len(sample)} test images are too few; give at least {MIN_BATCHES}")
        first, *timed, last = (sample[k::n] for k in range(n))
        predict(learner, first, stream)
        return AnswerCostResult(
            n_images=len(sample),
            flops=_flops(learner, last, stream) / len(last) or None,
            milliseconds=1000 * min(_seconds(learner, batch, stream) / len(batch) for batch in timed),
        )


def _seconds(learner: Any, batch: Batch, stream: Stream) -> float:
    started = time.perf_counter()
    predict(learner, batch, stream)
    return time.perf_counter() - started


def _flops(learner: Any, batch: Batch, stream: Stream) -> float:
    from torch.utils.flop_counter import FlopCounterMode  # reports read results without torch

    with FlopCounterMode(display=False) as counter:
        predict(learner, batch, stream)
    return float(counter.get_total_flops())
