"""Experience replay."""

from typing import ClassVar, Literal

from everlearn.learners.base import Losses, Names, setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier, concat, without_factors
from everlearn.memory import ClassBalanced, Reservoir
from everlearn.memory.base import MAX_CAPACITY
from everlearn.streams import Batch

BUFFERS = {"reservoir": Reservoir, "class-balanced": ClassBalanced}


class ER(Classifier):
    """Experience replay.

    Each batch is trained together with images sampled from a replay buffer, under one cross-entropy. Accuracy
    holds while the buffer has enough images per class, and decays after that.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = ER(image_shape=(16, 16), memory_size=20)
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0)
        >>> for batch in task.train.batches(16):
        ...     losses = learner.learn(batch)
        >>> learner.buffer
        <Reservoir: 20 of at most 20 images, 42 seen>

    Reference: Chaudhry et al. 2019, "On tiny episodic memories in continual learning", arXiv:1902.10486.
    """

    memory_size: int = setting("images stored in total", default=2000, ge=1, le=MAX_CAPACITY)
    replay_size: int = setting("stored images replayed with each batch", default=64, ge=1, le=MAX_REPLAY)
    policy: Literal["reservoir", "class-balanced"] = setting(
        'what is stored: "reservoir", a uniform sample of all images, or "class-balanced", equally many '
        "images of each class",
        default="reservoir",
    )

    parts: ClassVar[Names] = ("buffer",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = BUFFERS[self.policy](capacity=self.memory_size, seed=self.seed)

    def learn(self, batch: Batch) -> Losses:
        loss = self.step(concat(batch, self.buffer.sample(self.replay_size)))
        self.buffer.add(without_factors(batch))
        return {"loss": loss}
