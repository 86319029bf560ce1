"""Brightness protocol: accuracy on darkened test images."""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from everlearn.evaluation.protocols import Context, Protocol, Result, Table
from everlearn.evaluation.protocols.base import NImages, accuracy
from everlearn.streams import Batch, Stream


class BrightnessResult(Result):
    """Accuracy at each brightness."""

    accuracies: dict[str, float]

    def table(self) -> Table:
        return Table(("brightness", "accuracy"), list(self.accuracies.items()))


class Brightness(Protocol[BrightnessResult]):
    """Accuracy on test images that were darkened."""

    n_images: NImages = 100
    """Test images."""
    darkest: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Lowest factor of the gray levels."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: Context) -> BrightnessResult:
        sample = stream.eval_sample(n_tasks, self.n_images)
        factors = (1.0, (1 + self.darkest) / 2, self.darkest)
        return BrightnessResult(
            accuracies={f"{f:g}": accuracy(learner, _darker(sample, f), stream) for f in factors}
        )


def _darker(sample: Batch, factor: float) -> Batch:
    return Batch((sample.images * factor).astype(np.uint8), sample.labels, sample.factors, sample.tasks)
