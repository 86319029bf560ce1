"""How weights are moved: one choice of optimiser for all learners that are compared."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from everlearn.errors import BadInput, check_range, unknown

OPTIMISERS = ("adam", "sgd")
MAX_MOMENTUM = 0.9999


@dataclass(frozen=True, kw_only=True)
class Descent:
    """An optimiser by name with its settings, checked before anything is built.

    Attributes:
        optimizer: "adam" or "sgd".
        learning_rate: the optimiser's step size.
        momentum: of "sgd"; Adam has its own.

    Example:
        >>> weight = nn.Parameter(torch.ones(1))
        >>> type(Descent(optimizer="sgd", momentum=0.9).over([weight])).__name__
        'SGD'
    """

    optimizer: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < 1e6:
            raise BadInput(f"learning_rate is {self.learning_rate}; it must be above 0 and below a million")
        if self.optimizer not in OPTIMISERS:
            raise unknown("optimizer", self.optimizer, OPTIMISERS)
        check_range("momentum", self.momentum, 0, MAX_MOMENTUM)
        if self.momentum and self.optimizer == "adam":
            raise BadInput(
                f"momentum is {self.momentum}, but adam has its own; set optimizer to sgd or leave it"
            )

    def over(self, weights: Iterable[nn.Parameter] | Iterable[dict[str, Any]]) -> torch.optim.Optimizer:
        """A fresh optimiser of these weights, or of groups of them with settings of their own."""
        if self.optimizer == "sgd":
            return torch.optim.SGD(weights, lr=self.learning_rate, momentum=self.momentum)
        return torch.optim.Adam(weights, lr=self.learning_rate)


def left_by(slowing: float, task: int) -> float:
    """The share of a step size that is left in task i, from 0, of a stream: 1 - slowing * sigmoid(1.5 i - 8).

    Later tasks move less of what is known, since there is more of it.

    Example:
        >>> [round(left_by(0.9, task), 2) for task in (0, 5, 6, 20)]
        [1.0, 0.66, 0.34, 0.1]
    """
    return 1 - slowing / (1 + math.exp(8 - 1.5 * task))
