"""Greedy sampler, dumb learner: keep a few of each, and start again from nothing."""

from typing import Unpack

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Shared
from everlearn.learners.base.learner import Losses
from everlearn.learners.base.rehearsal import MAX_REPLAY, Rehearsal, plain
from everlearn.memory import ClassBalanced
from everlearn.streams import Batch, TaskView

MAX_PASSES = 10_000


class GDumb(Rehearsal):
    """Keep a few images of each class, and after each task train a fresh network on nothing else.

    It learns nothing along the way, so it cannot forget; whoever does worse has gained nothing from the rest
    of the stream. Inside a task it answers as after the one before. Training takes place when a task ends
    and is not interrupted, so keep memory_size * passes small enough to wait for it.

    Expect it to hold while a class keeps dozens of images, and to fall with every class after that.

    Args:
        memory_size: images kept in all; classes share them evenly.
        passes: how often the memory is gone through.
        replay_size: images per step.

    Example:
        >>> GDumb.tiny().memory
        <ClassBalanced: 0 of at most 2000 images, 0 seen>

    Reference: Prabhu et al. 2020, "GDumb: a simple approach that questions our progress in continual
    learning", ECCV.
    """

    def __init__(
        self,
        *,
        memory_size: int = 2000,
        passes: int = 10,
        replay_size: int = 64,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        check_range("passes", passes, 1, MAX_PASSES)
        check_range("replay_size", replay_size, 1, MAX_REPLAY)
        self.memory = ClassBalanced(capacity=memory_size, seed=self.seed)
        self.passes, self.replay_size = passes, replay_size

    def learn(self, batch: Batch) -> Losses:
        """Nothing yet: the task's images are chosen from once, however often they come by."""
        return {"images kept": float(len(self.memory))}

    def end(self, task: TaskView) -> None:
        """Choose from the images of the task; then train from scratch on what is kept."""
        self.memory.add(plain(task.train))
        self.restart()
        kept = self.memory.everything()
        for number in range(self.passes):
            for piece in kept.shuffled(self.seed, task.index, number).pieces(self.replay_size):
                self.step(piece)
