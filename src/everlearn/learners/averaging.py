"""The moving average of a classifier's weights."""

import torch
from torch import Tensor

from everlearn.learners.distillation import Teacher


class AveragedNet(Teacher):
    """The moving average of a classifier's weights and of its running statistics; none until it is updated.

    Args:
        live: the network whose weights are averaged.

    Example:
        >>> from everlearn.networks import IncrementalNet, make_backbone
        >>> live = IncrementalNet(make_backbone("mlp", (16, 16), seed=0))
        >>> averaged = AveragedNet(live)
        >>> averaged.average(0.25)  # a copy
        >>> _ = live.head.add_labels([7]), live.head.bias.data.fill_(1.0)
        >>> averaged.average(0.25)
        >>> averaged.net.head.labels, averaged.net.head.bias[:2]
        ([7], tensor([0.2500, 0.2500]))

    Reference: Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging".
    """

    @torch.no_grad()
    def average(self, share: float, *, statistics: bool = True) -> None:
        """Move weights and, if `statistics`, statistics by a share of their difference to the current ones.

        The first call copies the network. Weights of labels that `add_labels` did not copy start from zero.
        """
        if self.net is None:
            self.update()
            return
        self._grow()
        averages, current = self.net.state_dict(), self.live.state_dict()
        names = current.keys() if statistics else dict(self.live.named_parameters()).keys()
        floats = [name for name in names if current[name].is_floating_point()]
        torch._foreach_lerp_([averages[n] for n in floats], [current[n] for n in floats], share)
        for name in names - floats:
            averages[name].copy_(current[name])

    @torch.no_grad()
    def add_labels(self) -> None:
        """Copy the weights of labels that the network has and the average does not."""
        if self.net is None:
            self.update()
            return
        new = slice(self.n_labels, len(self.live.head.labels))
        self._grow()
        own, live = self.net.head, self.live.head
        own.weight[new], own.bias[new] = live.weight[new], live.bias[new]

    def in_training(self, images: Tensor) -> Tensor:
        """Logits (n, n_labels) in training mode: the statistics of the images update those of the average."""
        assert self.net is not None, "there is no average yet"  # noqa: S101
        self.net.train()
        logits = self(images)
        self.net.eval()
        return logits

    def _grow(self) -> None:
        """Extend the head to the labels and the capacity of the network's head."""
        assert self.net is not None  # noqa: S101
        own, live = self.net.head, self.live.head
        if len(own.labels) < len(live.labels) or len(own.bias) != len(live.bias):
            own.resize(len(live.bias))
            own.add_labels(live.labels)
            own.requires_grad_(False)  # these may replace parameters
