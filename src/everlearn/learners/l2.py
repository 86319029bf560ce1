"""Quadratic penalty on parameter drift (L2)."""

from typing import ClassVar

import torch
from torch import Tensor

from everlearn.learners.base import setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.stateful import Names
from everlearn.learners.weight_penalty import WeightPenalty
from everlearn.streams import TaskView


class L2(Classifier):
    """Quadratic penalty on parameter drift.

    The loss is cross-entropy + strength * sum (parameter - reference)^2, with the parameters after the last
    task as the reference. It is the control for `ewc` and `si`: their importances must do better than equal
    ones. The penalty does not apply to logits of new labels and to running statistics of batch normalization,
    which are not parameters. In class-incremental streams the head forgets as fast as that of `naive`.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = L2(image_shape=(16, 16), strength=0.1)
        >>> first, second = sprites(image_size=16, factor_values=2, classes_per_task=3).take(2)
        >>> learner.end(first.for_learner())
        >>> losses = [learner.learn(second.train[:8]) for _ in range(2)]
        >>> bool(learner.penalty(learner.parameters()) > 0)  # the parameters have left the reference
        True

    Reference: the baseline of Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural
    networks", arXiv:1612.00796.
    """

    strength: float = setting("weight of the penalty", default=0.01, ge=0, le=1e12)

    parts: ClassVar[Names] = ("penalty",)

    def setup(self) -> None:
        super().setup()
        self.penalty = WeightPenalty(self.parameters())

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        return super().loss(images, targets) + self.strength * self.penalty(self.parameters())

    def end(self, task: TaskView) -> None:
        importance = [torch.ones_like(each, requires_grad=False) for each in self.parameters()]
        for of_head in importance[-2:]:
            of_head[len(self.net.head.labels) :] = 0
        self.penalty.set_reference(self.parameters(), importance)
