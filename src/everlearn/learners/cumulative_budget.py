"""All data so far, but no more work than the others."""

from everlearn.learners.joint import Joint
from everlearn.streams import TaskView


class CumulativeBudget(Joint):
    """Keep every image, and take one step for each batch, on images drawn from all so far.

    The ceiling for methods that keep images, at the price in work that everybody pays: what `er` would be
    with a memory without end that is drawn from alone. Memory and checkpoints hold every image seen, as
    bytes. Expect it to fall behind `joint` as tasks go by, since every image is seen ever more rarely.

    Example:
        >>> CumulativeBudget.tiny().steps_per_batch
        1
    """

    def begin(self, task: TaskView) -> None:
        """Keep all of the task; a batch stays one step."""
        super().begin(task)
        self.steps_per_batch = 1
