"""A network as it was, to be listened to."""

from copy import deepcopy
from typing import Self

import torch
from torch import Tensor, nn

from everlearn.learners.base.learner import State
from everlearn.networks import GrowingHead, load_module, module_state, n_bytes


class Teacher:
    """A frozen copy of a body and its head, with one output for each label known when it was made.

    It answers as the network would have answered then, with the averages that batch normalisation had
    gathered; what it is asked now does not move them.

    Args:
        body: makes features of images.
        head: makes outputs of features.
    """

    def __init__(self, body: nn.Module, head: GrowingHead) -> None:
        self.n_labels = len(head.labels)
        self.net = nn.Sequential(deepcopy(body), deepcopy(head)).requires_grad_(False).eval()

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_labels)."""
        outputs: Tensor = self.net(images)
        return outputs

    @property
    def nbytes(self) -> int:
        """The bytes of the copy."""
        return n_bytes(self.net)

    def state(self) -> State:
        """Weights and how many labels they know."""
        return {"net": module_state(self.net), "n_labels": self.n_labels}

    @classmethod
    def loaded(cls, body: nn.Module, head: GrowingHead, state: State) -> Self:
        """A teacher from its state; body and head say how it is built, and which labels come first."""
        capacity, n_features = state["net"]["1.weight"].shape
        smaller = GrowingHead(n_features, capacity).to(head.weight.device)
        smaller.admit(head.labels[: state["n_labels"]])
        teacher = cls(body, smaller)
        load_module(teacher.net, state["net"])
        return teacher
