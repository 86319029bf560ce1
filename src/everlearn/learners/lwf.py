"""Learning without forgetting (LwF)."""

from typing import ClassVar, Literal

from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.distillation import Teacher
from everlearn.learners.stateful import Names
from everlearn.streams import TaskView


class LwF(Classifier):
    """Learning without forgetting.

    The loss is cross-entropy + alpha * KL(softmax(teacher / temperature) || softmax(logits / temperature))
    over the labels that the teacher knows, where the teacher is a frozen copy of the network after the last
    task. The footprint counts it as weights.

    It is hardly better than `naive` in class-incremental streams: on images of new classes the teacher's
    logits have little information about old classes, and old images are assigned to new labels. It needs
    tasks with similar images. The last two settings are the adaptation to a single head by van de Ven and
    Tolias, which helps somewhat.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = LwF.tiny()
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> losses = learner.learn(task.train[:16])
        >>> learner.end(task)
        >>> learner.teacher.n_labels
        3

    References: Li and Hoiem 2016, "Learning without forgetting", arXiv:1606.09282; single head: van de Ven
    and Tolias 2019, "Three scenarios for continual learning", arXiv:1904.07734.
    """

    alpha: float = setting("weight of the distillation loss", default=1.0, ge=0, le=1e9)
    temperature: float = setting("temperature of the softmax in distillation", default=2.0, ge=1e-3, le=1e3)
    new_labels: Literal["free", "zero"] = setting(
        'soft targets of labels that the teacher does not know: "free" excludes them from distillation, '
        '"zero" sets their probability to zero',
        default="free",
    )
    weighting: Literal["fixed", "by-labels"] = setting(
        'weights of the two losses: "fixed" is 1 and alpha; "by-labels" multiplies these by the fractions of '
        "new and of old labels",
        default="fixed",
    )

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
        n_old, n_labels = self.teacher.n_labels, logits.shape[1]
        distilled = logits if self.new_labels == "zero" else logits[:, :n_old]
        distillation = self.alpha * distillation_loss(distilled, self.teacher(images), self.temperature)
        if self.weighting == "fixed":
            return loss + distillation
        return (1 - n_old / n_labels) * loss + n_old / n_labels * distillation

    def end(self, task: TaskView) -> None:
        self.teacher.update()


def distillation_loss(logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """KL divergence between softened distributions, mean over images.

    Where there are more logits than the teacher has, the soft targets of the others are zero.
    """
    log_probabilities = functional.log_softmax(logits / temperature, 1)
    soft_targets = functional.softmax(teacher_logits / temperature, 1)
    known = log_probabilities[:, : teacher_logits.shape[1]]
    return functional.kl_div(known, soft_targets, reduction="batchmean")
