"""Synaptic intelligence (SI)."""

from typing import ClassVar

from torch import Tensor

from everlearn.learners.base import Names, setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.weight_penalty import PathIntegralPenalty
from everlearn.streams import TaskView


class SI(Classifier):
    """Synaptic intelligence (path-integral importance).

    The loss is cross-entropy + strength * sum W (parameter - reference)^2. At every step w += -gradient *
    displacement, with the gradient of the cross-entropy alone. After each task W += max(0, w / (displacement
    over the task^2 + damping)), w = 0, and the parameters become the reference.

    Expect an accuracy of 1 / number of tasks in class-incremental streams for any strength: nothing
    discriminates between new and old labels.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = SI.tiny()
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> losses = [learner.learn(batch) for batch in task.train.batches(16)]
        >>> learner.end(task)
        >>> any(bool(each.any()) for each in learner.penalty.importance)
        True

    Reference: Zenke et al. 2017, "Continual learning through synaptic intelligence", arXiv:1703.04200.
    """

    strength: float = setting("weight of the penalty", default=0.1, ge=0, le=1e12)
    damping: float = setting(
        "added to squared displacements, which bounds the importance of weights that hardly move",
        default=0.1, ge=1e-12, le=1e6,
    )  # fmt: skip

    parts: ClassVar[Names] = ("penalty",)

    def setup(self) -> None:
        super().setup()
        self.penalty = PathIntegralPenalty(self.parameters(), self.strength, self.damping)

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        return super().loss(images, targets) + self.strength * self.penalty(self.parameters())

    def optimizer_step(self, loss: Tensor) -> None:
        self.penalty.optimizer_step(loss, self.parameters(), self.optim)

    def end(self, task: TaskView) -> None:
        self.penalty.consolidate(self.parameters())
