"""Elastic weight consolidation (EWC)."""

from typing import ClassVar

from torch import Tensor

from everlearn.learners.base import setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.fisher import fisher_diagonal
from everlearn.learners.stateful import Names
from everlearn.learners.weight_penalty import WeightPenalty
from everlearn.streams import Batch, TaskView


class EWC(Classifier):
    """Elastic weight consolidation (Fisher-weighted quadratic penalty), online variant.

    The loss is cross-entropy + strength * sum F (parameter - reference)^2. After each task F becomes
    decay * F + the empirical Fisher information of the task: the mean squared gradient of
    log p(true label | image), image by image, with batch normalization in evaluation mode. The online variant
    has one F and one reference for all tasks, so that memory does not grow.

    Expect an accuracy of 1 / number of tasks in class-incremental streams for any strength: nothing
    discriminates between new and old labels.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = EWC(image_shape=(16, 16), n_fisher_images=8)
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> losses = learner.learn(task.train[:16])
        >>> learner.end(task)
        >>> float(learner.penalty(learner.parameters()).detach())  # at the reference parameters
        0.0

    References: Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks",
    arXiv:1612.00796; online: Schwarz et al. 2018, "Progress & compress", arXiv:1805.06370.
    """

    strength: float = setting("weight of the penalty", default=100.0, ge=0, le=1e12)
    decay: float = setting("factor of the Fisher information of earlier tasks", default=0.9, ge=0, le=1)
    n_fisher_images: int = setting(
        "images of a task that its Fisher information is estimated from", default=200, ge=1, le=1_000_000
    )

    parts: ClassVar[Names] = ("penalty",)

    def setup(self) -> None:
        super().setup()
        self.penalty = WeightPenalty(self.parameters())

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        return super().loss(images, targets) + self.strength * self.penalty(self.parameters())

    def end(self, task: TaskView) -> None:
        sample = task.train.shuffled(self.seed, task.index)[: self.n_fisher_images]
        self.penalty.add_importance(self.parameters(), self.fisher(sample), decay=self.decay)

    def fisher(self, batch: Batch) -> list[Tensor]:
        """The mean squared gradient of log p(label | image) with respect to each parameter."""
        images, targets = self.tensors(batch)
        self.net.eval()
        return fisher_diagonal(super().loss, images, targets, self.parameters())
