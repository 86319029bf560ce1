"""Weight aligning (WA)."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import setting
from everlearn.learners.distillation import Teacher
from everlearn.learners.er import ER
from everlearn.learners.lwf import distillation_loss
from everlearn.learners.stateful import Names
from everlearn.streams import TaskView


class WA(ER):
    """Weight aligning.

    `er` with distillation: with r the share of old labels, the loss is (1 - r) * cross-entropy +
    r * KL(softmax(teacher / temperature) || softmax(logits / temperature)) over the labels of the teacher, a
    frozen copy of the network after the last task. When a task ends, the weight vectors of its labels are
    multiplied by (mean length of those of old labels) / (mean length of those of new ones), since training
    with few old images makes new ones longer, and their logits larger. The paper also clips weights at zero,
    which fits nonnegative features only. Accuracy decays as with `er` when classes outgrow the buffer.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = WA.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> lengths = learner.net.head.weight.norm(dim=1)
        >>> torch.isclose(lengths[:3].mean(), lengths[3:6].mean())
        tensor(True)

    Reference: Zhao et al. 2020, "Maintaining discrimination and fairness in class incremental learning",
    arXiv:1911.07053.
    """

    average: float = setting("0: predictions are made with aligned weights", default=0.0, ge=0, le=0)
    temperature: float = setting("temperature of the softmax in distillation", default=2.0, ge=1e-3, le=1e3)

    parts: ClassVar[Names] = ("teacher",)

    def setup(self) -> None:
        super().setup()
        self.teacher = Teacher(self.net)

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        logits = self.logits(images)
        loss = functional.cross_entropy(logits, targets)
        if not self.teacher:
            return loss
        self.count_flops(len(images), self.forward_flops, backward=False)
        n_old = self.teacher.n_labels
        distillation = distillation_loss(logits[:, :n_old], self.teacher(images), self.temperature)
        share = n_old / logits.shape[1]
        return (1 - share) * loss + share * distillation

    def end(self, task: TaskView) -> None:
        self.align(self.teacher.n_labels)
        self.teacher.update()

    @torch.no_grad()
    def align(self, n_old: int) -> None:
        """Give the weight vectors of new labels the mean length of those of old ones."""
        vectors = self.net.head.weight[: len(self.net.head.labels)]
        old, new = vectors[:n_old], vectors[n_old:]
        if len(old) and len(new):
            new.mul_(old.norm(dim=1).mean() / new.norm(dim=1).mean().clamp_min(1e-12))
