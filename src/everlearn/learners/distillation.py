"""Frozen copies of a network, such as the teacher of knowledge distillation."""

from copy import deepcopy
from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn

from everlearn.learners.stateful import Names, State, Stateful
from everlearn.networks import IncrementalNet

Net = TypeVar("Net", bound=nn.Module)


class FrozenCopy(Stateful, Generic[Net]):
    """A frozen copy of a network in evaluation mode; there is none until `update`.

    Args:
        live: the network to copy.
    """

    parts: ClassVar[Names] = ("net",)

    def __init__(self, live: Net) -> None:
        self.live = live
        self.net: Net | None = None

    def __bool__(self) -> bool:
        """Whether there is a copy."""
        return self.net is not None

    def update(self) -> None:
        """Copy the network as it is now."""
        self.net = deepcopy(self.live).requires_grad_(False).eval()

    def load(self, state: State) -> None:
        self.net = None if state["net"] is None else deepcopy(self.live)
        super().load(state)
        if self.net is not None:  # loading may replace parameters
            self.net.requires_grad_(False).eval()


class Teacher(FrozenCopy[IncrementalNet]):
    """A frozen copy of a classifier, with one logit for each label known when it was copied."""

    @property
    def n_labels(self) -> int:
        """The number of labels that the teacher knows."""
        return len(self.net.head.labels) if self.net else 0

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> logits (n, n_labels)."""
        assert self.net is not None, "there is no teacher yet"  # noqa: S101
        return self.net(images)
