"""Incremental classifier and representation learning (iCaRL)."""

import math
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import Classifier, concat, without_factors
from everlearn.learners.distillation import Teacher
from everlearn.learners.stateful import Names
from everlearn.learners.stored_means import StoredMeans
from everlearn.memory import Herding
from everlearn.memory.base import MAX_CAPACITY
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images


class ICaRL(Classifier):
    """Incremental classifier and representation learning.

    Each logit is a binary classifier (binary cross-entropy, summed over labels): its target is the output of
    the teacher, the network after the last task, for labels that the teacher knows, and the true label for
    new ones. A batch is trained together with a proportional number of exemplars, so that an epoch over the
    task is one over the exemplars too. After a task, herding selects exemplars whose mean feature
    approximates that of their class. The prediction is the class whose mean exemplar feature, under the
    current network, is nearest. Features are normalized.

    It is made for streams in which each class occurs in one task: a recurring class gets new exemplars, but
    only the teacher's targets. A class is not predicted before its task has ended. Accuracy decays as the
    number of exemplars per class shrinks.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = ICaRL(image_shape=(16, 16), memory_size=12)
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0).for_learner()
        >>> learner.begin(task)
        >>> losses = learner.learn(task.train[:16])
        >>> learner.end(task)
        >>> learner.buffer.count(0), learner.stored_means.means().shape
        (4, (3, 256))

    References: Rebuffi et al. 2017, "iCaRL: incremental classifier and representation learning",
    arXiv:1611.07725; temperature: van de Ven and Tolias 2019, arXiv:1904.07734.
    """

    memory_size: int = setting(
        "exemplars stored in total, equally many of each class", default=2000, ge=1, le=MAX_CAPACITY
    )
    temperature: float = setting(
        "temperature of the teacher's logits: 1 in the paper; 2 in van de Ven and Tolias, which favors new "
        "classes",
        default=1.0, ge=1e-3, le=1e3,
    )  # fmt: skip

    parts: ClassVar[Names] = ("buffer", "teacher")
    counters: ClassVar[Names] = ("exemplars_per_image",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = Herding(capacity=self.memory_size, seed=self.seed)
        self.teacher = Teacher(self.net)
        self.exemplars_per_image = 0.0
        self.stored_means = StoredMeans(self.buffer, self.features)

    def begin(self, task: TaskView) -> None:
        self.exemplars_per_image = len(self.buffer) / max(1, len(task.train))

    def learn(self, batch: Batch) -> Losses:
        self.stored_means.clear()
        exemplars = self.buffer.sample(math.ceil(len(batch) * self.exemplars_per_image))
        return {"loss": self.step(concat(batch, exemplars))}

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        logits = self.logits(images)
        soft_targets = functional.one_hot(targets, logits.shape[1]).float()
        if self.teacher:
            self.count_flops(len(images), self.forward_flops, backward=False)
            soft_targets[:, : self.teacher.n_labels] = (self.teacher(images) / self.temperature).sigmoid()
        summed = functional.binary_cross_entropy_with_logits(logits, soft_targets, reduction="sum")
        return summed / len(images)

    def end(self, task: TaskView) -> None:
        features = self.stored_means.unit_features(task.train.images)
        self.buffer.add(without_factors(task.train), features=features)
        self.teacher.update()
        self.stored_means.clear()

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return self.stored_means.predict(images)

    def on_load(self) -> None:
        self.stored_means.clear()
