"""AR1: merge the head, hold the body."""

from collections.abc import Sequence
from typing import Unpack

from torch import Tensor, nn

from everlearn.errors import check_range
from everlearn.learners.old_base.consolidated import MAX_RATE, Consolidated, Consolidating
from everlearn.learners.si import SI

MAX_CEILING = 1e12


class AR1(Consolidated, SI):
    """Learn the head as CWR* does, and the whole body on, each weight held by synaptic intelligence.

    With strength 0 the body is free, and only a small `body_rate` protects it; `gnr` replays patterns to such
    a one. The head is not held, since it is merged.

    Args:
        strength: how much the penalty weighs; 0 leaves the body free. Half of lambda times the multiplier of
            the paper's importances.
        damping: keeps weights that hardly moved from mattering without bound.
        ceiling: the most that a weight can come to matter; the paper's clip value over its multiplier.
        body_rate: the step size of the body after the first task.

    Example:
        >>> AR1.tiny(seed=1).seed
        1

    Reference: Maltoni and Lomonaco 2019, "Continuous learning in single-incremental-task scenarios",
    arXiv:1806.08568.
    """

    def __init__(
        self,
        *,
        strength: float = 0.4,
        damping: float = 1e-7,
        ceiling: float = 1e3,
        body_rate: float = 1e-3,
        **shared: Unpack[Consolidating],
    ) -> None:
        check_range("ceiling", ceiling, 0, MAX_CEILING)
        check_range("body_rate", body_rate, 0, MAX_RATE)
        self.ceiling, self.body_rate = ceiling, body_rate
        super().__init__(strength=strength, damping=damping, **shared)

    def held(self) -> list[nn.Parameter]:
        """The weights that are drawn back: those of the body."""
        return list(self.body.parameters())

    def accumulate(self, importances: Sequence[Tensor], *, decay: float = 1.0) -> None:
        """Add importances to those so far; none comes to matter more than `ceiling`."""
        super().accumulate(importances, decay=decay)
        self.anchor.importances = [
            importance.clamp(max=self.ceiling) for importance in self.anchor.importances
        ]
