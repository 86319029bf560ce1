"""Elastic weight consolidation: hold what the answers depend on."""

from typing import Unpack

import torch
from torch import Tensor

from everlearn.errors import check_range
from everlearn.learners.old_base.anchor import Anchored
from everlearn.learners.old_base.classifier import Classifier, Shared
from everlearn.streams import Batch, TaskView

MAX_IMAGES = 1_000_000


class EWC(Anchored):
    """Hold each weight near its place after the last task, the harder the more the answers depend on it.

    The loss gains strength * sum F (weight - place)^2. After each task F becomes decay * F plus the mean over
    images of the squared slope of log p(label | image), taken for each image by itself and its true label
    (the empirical Fisher information), with the averages of batch normalisation and not of a batch. This is
    the online form, of one F and one place for each weight, so nothing grows with the tasks.

    Expect about 1 / number of tasks in class-incremental streams, whatever the strength: nothing tells the
    outputs of new labels from those of old ones.

    Args:
        strength: how much the penalty weighs.
        decay: how much of the importances so far stays after a task.
        fisher_images: images of a task that F is estimated from.

    Example:
        >>> EWC.tiny().decay
        0.9

    References: Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks",
    arXiv:1612.00796; online: Schwarz et al. 2018, "Progress & compress", arXiv:1805.06370.
    """

    def __init__(
        self,
        *,
        strength: float = 100.0,
        decay: float = 0.9,
        fisher_images: int = 200,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(strength=strength, **shared)
        check_range("decay", decay, 0, 1)
        check_range("fisher_images", fisher_images, 1, MAX_IMAGES)
        self.decay, self.fisher_images = decay, fisher_images

    def end(self, task: TaskView) -> None:
        """See what the answers of this task depend on."""
        some = task.train.shuffled(self.seed, task.index)[: self.fisher_images]
        self.accumulate(self.fisher(some), decay=self.decay)

    def fisher(self, batch: Batch) -> list[Tensor]:
        """For each weight, the mean square of the slopes of log p(label | image), image by image."""
        images, columns = self.tensors(batch)
        self.body.eval()
        squares = [torch.zeros_like(weight) for weight in self.weights()]
        for i in range(len(batch)):
            loss = Classifier.loss(self, images[i : i + 1], columns[i : i + 1])
            for square, slope in zip(squares, torch.autograd.grad(loss, self.weights()), strict=True):
                square += slope.square()
        return [square / max(1, len(batch)) for square in squares]
