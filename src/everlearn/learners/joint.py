"""Joint training on all tasks so far, with and without a budget."""

import math
from typing import ClassVar

from everlearn.learners.base import Losses
from everlearn.learners.classifier import Classifier, without_factors
from everlearn.learners.stateful import Names
from everlearn.memory import Reservoir
from everlearn.memory.base import MAX_CAPACITY
from everlearn.streams import Batch, TaskView


class Joint(Classifier):
    """Joint training on all tasks so far (upper bound).

    All images are stored. Each batch causes several steps, each on a uniform sample of the stored images, so
    that one epoch over the task is about one epoch over all of them. A task costs more the later it comes,
    and checkpoints contain every image (4 KB for 64 px in gray). It is not a continual learner but a bound
    for continual learners.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = Joint.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(3):
        ...     learner.begin(task.for_learner())
        >>> len(learner.buffer), learner.steps_per_batch
        (126, 3)
    """

    parts: ClassVar[Names] = ("buffer",)
    counters: ClassVar[Names] = ("steps_per_batch",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = Reservoir(capacity=MAX_CAPACITY, seed=self.seed)
        self.steps_per_batch = 1

    def begin(self, task: TaskView) -> None:
        self.buffer.add(without_factors(task.train))
        self.steps_per_batch = math.ceil(len(self.buffer) / max(1, len(task.train)))

    def learn(self, batch: Batch) -> Losses:
        n = self.steps_per_batch
        return {"loss": sum(self.step(self.buffer.sample(len(batch))) for _ in range(n)) / n}


class CumulativeBudget(Joint):
    """Joint training with one step per batch.

    All images are stored, and each batch is one step on a uniform sample of them: the upper bound for replay
    methods at equal compute. It falls behind `joint` as the number of tasks grows, since each image is used
    less and less often.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = CumulativeBudget.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(3):
        ...     learner.begin(task.for_learner())
        >>> len(learner.buffer), learner.steps_per_batch
        (126, 1)
    """

    def begin(self, task: TaskView) -> None:
        super().begin(task)
        self.steps_per_batch = 1
