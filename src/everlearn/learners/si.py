"""Synaptic intelligence: hold what made the loss fall."""

from typing import Unpack

import torch
from torch import Tensor

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, State
from everlearn.learners.old_base.anchor import Anchored, copies, listed, numbered
from everlearn.learners.old_base.classifier import Shared
from everlearn.networks import pad_to
from everlearn.streams import TaskView


class SI(Anchored):
    """Hold each weight near its place after the last task, the harder the more its way lowered the loss.

    The loss gains strength * sum W (weight - place)^2. At every step w += -slope * change, with the slope of
    the task's own loss, not of the penalty, and the change that the optimiser really made. After each task W
    gains w / (way^2 + damping), where way is how far the weight came in all, and never less than 0; then
    w = 0.

    Expect about 1 / number of tasks in class-incremental streams, whatever the strength: nothing tells the
    outputs of new labels from those of old ones.

    Args:
        strength: how much the penalty weighs.
        damping: keeps weights that hardly moved from mattering without bound.

    Example:
        >>> SI.tiny().damping
        0.1

    Reference: Zenke et al. 2017, "Continual learning through synaptic intelligence", arXiv:1703.04200.
    """

    def __init__(self, *, strength: float = 0.1, damping: float = 0.1, **shared: Unpack[Shared]) -> None:
        super().__init__(strength=strength, **shared)
        check_range("damping", damping, 1e-12, 1e6)
        self.damping = damping
        self.paths = [torch.zeros_like(place) for place in self.anchor.places]

    def descend(self, loss: Tensor) -> None:
        """A step, and what each weight did to lower the task's loss."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        weights = self.held()
        pulls = torch.autograd.grad(self.strength * self.anchor.penalty(weights), weights)
        slopes = [_slope(weight) - pull for weight, pull in zip(weights, pulls, strict=True)]
        before = copies(weights)
        self.optimiser.step()
        moves = zip(self.paths, slopes, weights, before, strict=True)
        self.paths = [pad_to(w, s.shape) - s * (new.detach() - old) for w, s, new, old in moves]

    def end(self, task: TaskView) -> None:
        """What the ways of the weights were worth is added to what matters."""
        ways = zip(self.held(), self.anchor.places, self.paths, strict=True)
        self.accumulate([self._worth(w.detach(), place, path) for w, place, path in ways])
        self.paths = [torch.zeros_like(path) for path in self.paths]

    def state(self) -> State:
        """The network's state, the anchor's, and the ways so far."""
        return {**super().state(), "paths": numbered(self.paths)}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.paths = listed(state["paths"], self.head.weight.device)

    def footprint(self) -> Footprint:
        """The bytes of the network, its anchor and the ways so far."""
        paths = sum(path.numel() * path.element_size() for path in self.paths)
        return Footprint(weights=super().footprint().weights + paths)

    def _worth(self, weight: Tensor, place: Tensor, path: Tensor) -> Tensor:
        way = weight - pad_to(place, weight.shape)
        return (pad_to(path, weight.shape) / (way.square() + self.damping)).clamp(min=0)


def _slope(weight: Tensor) -> Tensor:
    return torch.zeros_like(weight) if weight.grad is None else weight.grad
