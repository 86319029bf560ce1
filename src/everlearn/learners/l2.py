"""Plain parameter drift penalty: every weight matters alike."""

from typing import Unpack

import torch
from torch import Tensor

from everlearn.learners.old_base.anchor import Anchored
from everlearn.learners.old_base.classifier import Shared
from everlearn.streams import TaskView


class L2(Anchored):
    """Hold every weight near where it was when the last task ended.

    The loss gains strength * sum (weight - its place)^2. The control for `ewc` and `si`: what is theirs to
    show must be more than this. Outputs of new labels are free, and so are the running averages of batch
    normalisation, which are no weights. Expect it to trade learning against keeping one for one: in
    class-incremental streams the head forgets as fast as that of `naive`.

    Args:
        strength: how much the penalty weighs.

    Example:
        >>> L2.tiny(seed=1).strength
        0.01

    Reference: the baseline of Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural
    networks", arXiv:1612.00796.
    """

    def __init__(self, *, strength: float = 0.01, **shared: Unpack[Shared]) -> None:
        super().__init__(strength=strength, **shared)

    def end(self, task: TaskView) -> None:
        """Hold all weights where they are now, except those of outputs that nobody has used yet."""
        self.anchor.move(self.weights(), self._in_use())

    def _in_use(self) -> list[Tensor]:
        used = [torch.ones_like(weight, requires_grad=False) for weight in self.weights()]
        for head in used[-2:]:
            head[len(self.head.labels) :] = 0
        return used
