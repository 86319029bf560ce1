"""Greedy sampler and dumb learner (GDumb)."""

from typing import ClassVar

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier, without_factors
from everlearn.learners.stateful import Names
from everlearn.memory import ClassBalanced
from everlearn.memory.base import MAX_CAPACITY
from everlearn.streams import Batch, TaskView


class GDumb(Classifier):
    """Greedy sampler and dumb learner.

    A class-balanced buffer stores images; after each task a new network is trained on the buffer alone. It
    cannot forget, and a method that does worse has gained nothing from the rest of the stream. Within a task
    it predicts with the network of the previous task. Training takes place when a task ends and cannot be
    interrupted, so keep memory_size * passes small enough.

    Accuracy is stable while each class has dozens of stored images, and falls with every further class.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = GDumb(image_shape=(16, 16), memory_size=12, passes=2)
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     learner.end(task.for_learner())
        >>> [learner.buffer.count(label) for label in learner.buffer.labels()]
        [2, 2, 2, 2, 2, 2]

    Reference: Prabhu et al. 2020, "GDumb: a simple approach that questions our progress in continual
    learning", ECCV.
    """

    memory_size: int = setting(
        "images stored in total, equally many of each class", default=2000, ge=1, le=MAX_CAPACITY
    )
    passes: int = setting("epochs over the buffer after each task", default=10, ge=1, le=10_000)
    replay_size: int = setting("images per step", default=64, ge=1, le=MAX_REPLAY)

    parts: ClassVar[Names] = ("buffer",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = ClassBalanced(capacity=self.memory_size, seed=self.seed)

    def learn(self, batch: Batch) -> Losses:
        # Images are sampled once, when the task ends, however often they come in batches.
        return {"stored images": float(len(self.buffer))}

    def end(self, task: TaskView) -> None:
        self.buffer.add(without_factors(task.train))
        self.reset()
        stored = self.buffer.everything()
        for epoch in range(self.passes):
            for batch in stored.shuffled(self.seed, task.index, epoch).batches(self.replay_size):
                self.step(batch)
