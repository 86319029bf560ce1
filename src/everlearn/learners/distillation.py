"""A frozen copy of a network as the teacher of knowledge distillation."""

from copy import deepcopy

import torch
from torch import Tensor

from everlearn.learners.base import Footprint, State, Stateful
from everlearn.networks import IncrementalNet, n_bytes


class Teacher(Stateful):
    """A frozen copy of a network, with one logit for each label known when it was copied.

    Batch normalization uses the running statistics of that time, which do not change any more.

    Args:
        student: the network to copy.
    """

    def __init__(self, student: IncrementalNet) -> None:
        self.student = student
        self.net: IncrementalNet | None = None

    def __bool__(self) -> bool:
        """Whether there is a copy."""
        return self.net is not None

    @property
    def n_labels(self) -> int:
        """The number of labels that the teacher knows."""
        return len(self.net.head.labels) if self.net else 0

    def copy_student(self) -> None:
        """Become a copy of the student as it is now."""
        self._freeze(deepcopy(self.student))

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> logits (n, n_labels)."""
        assert self.net is not None, "there is no teacher yet"  # noqa: S101
        logits: Tensor = self.net(images)
        return logits

    # The architecture of a copy that is loaded is the student's, so it is not a declared part.

    def state(self) -> State:
        return {"net": self.net and self.net.state()}

    def load(self, state: State) -> None:
        self.net = None
        if state["net"] is not None:
            net = deepcopy(self.student)
            net.load(state["net"])
            self._freeze(net)

    def footprint(self) -> Footprint:
        return Footprint(weights=n_bytes(self.net) if self.net else 0)

    def _freeze(self, net: IncrementalNet) -> None:
        self.net = net.requires_grad_(False).eval()
