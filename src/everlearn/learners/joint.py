"""All data so far, as often as it takes: the ceiling."""

import math
from typing import Unpack

from everlearn.learners.base.classifier import Shared
from everlearn.learners.base.learner import Losses, State
from everlearn.learners.base.rehearsal import Rehearsal, plain
from everlearn.memory import Reservoir
from everlearn.memory.base import MAX_CAPACITY
from everlearn.streams import Batch, TaskView


class Joint(Rehearsal):
    """Keep every image and pass over all of them in every task.

    Not a continual learner but the ceiling for one: each batch stands for as many steps as it takes to pass
    over all images so far while the task passes once, each on images drawn from all of them alike. So a task
    costs more the later it comes, and memory and checkpoints hold every image seen, as bytes (4 KB for 64 px
    in gray). Expect it to bound the others; on an endless stream it must be stopped by its price.

    Example:
        >>> Joint.tiny().memory
        <Reservoir: 0 of at most 1000000000 images, 0 seen>
    """

    def __init__(self, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        self.memory = Reservoir(capacity=MAX_CAPACITY, seed=self.seed)
        self.steps_per_batch = 1

    def begin(self, task: TaskView) -> None:
        """Keep all of the task; count how many steps a batch has to stand for."""
        self.memory.add(plain(task.train))
        self.steps_per_batch = math.ceil(len(self.memory) / max(1, len(task.train)))

    def learn(self, batch: Batch) -> Losses:
        """Some steps, each on as many images as the batch has, drawn from all there are."""
        n = self.steps_per_batch
        return {"loss": sum(self.step(self.memory.sample(len(batch))) for _ in range(n)) / n}

    def state(self) -> State:
        """The network's state, all images, and how many steps a batch stands for."""
        return {**super().state(), "steps_per_batch": self.steps_per_batch}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.steps_per_batch = state["steps_per_batch"]
