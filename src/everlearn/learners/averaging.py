"""Copies of a classifier whose weights are averaged over time."""

import torch
from torch import Tensor, nn

from everlearn.learners.distillation import FrozenCopy, Teacher
from everlearn.networks import IncrementalNet


class AveragedCopy(Teacher):
    """A copy of a classifier that is moved towards it; there is none until `update`.

    Args:
        live: the network to copy.

    Example:
        >>> from everlearn.networks import make_backbone
        >>> net = IncrementalNet(make_backbone("mlp", (4, 4), seed=0))
        >>> copy = AveragedCopy(net)
        >>> copy.update()
        >>> _ = net.head.add_labels([7]), net.head.bias.data.fill_(8.0)
        >>> copy.average(0.25)
        >>> copy.net.head.labels, copy.net.head.bias[:2]
        ([7], tensor([8., 2.]))
    """

    @torch.no_grad()
    def average(self, share: float, *, statistics: bool = True) -> None:
        """Move weights, and statistics if wanted, towards the network's by a share of the difference.

        The weights of labels that the copy does not have yet are copied.
        """
        self.add_labels()
        parts = [nn.Module.named_parameters] + [nn.Module.named_buffers] * statistics
        for named in parts:
            for (_, own), (_, current) in zip(named(self._copy), named(self.live), strict=True):
                if own.is_floating_point():
                    own.lerp_(current, share)

    def in_training(self, images: Tensor) -> Tensor:
        """Logits (n, n_labels) with the statistics of the images, which the copy's own follow."""
        self._copy.train()
        logits = self(images)
        self._copy.eval()
        return logits

    @torch.no_grad()
    def add_labels(self) -> None:
        """Copy the weights of labels that the network has and the copy does not."""
        own, live = self._copy.head, self.live.head
        new = slice(len(own.labels), len(live.labels))
        own.add_labels(live.labels)
        own.requires_grad_(False)  # adding may replace parameters
        own.weight[new], own.bias[new] = live.weight[new], live.bias[new]

    @property
    def _copy(self) -> IncrementalNet:
        assert self.net is not None, "there is no copy yet"  # noqa: S101
        return self.net


class AveragedNet(FrozenCopy[IncrementalNet]):
    """The exponential moving average of a classifier's weights and of its running statistics.

    Example:
        >>> from everlearn.networks import make_backbone
        >>> live = IncrementalNet(make_backbone("mlp", (16, 16), seed=0))
        >>> averaged = AveragedNet(live)
        >>> averaged.add(0.75)  # a copy
        >>> _ = live.head.bias.data.fill_(1.0)
        >>> averaged.add(0.75)
        >>> averaged.net.head.bias[:2]
        tensor([0.2500, 0.2500])

    Reference: Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging".
    """

    @torch.no_grad()
    def add(self, decay: float) -> None:
        """Move the average towards the present weights: decay * average + (1 - decay) * weights."""
        if self.net is None:
            return self.update()
        head, live = self.net.head, self.live.head
        if len(head.labels) < len(live.labels) or len(head.bias) != len(live.bias):
            head.resize(len(live.bias))
            head.add_labels(live.labels)
            head.requires_grad_(False)
        averages, present = self.net.state_dict(), self.live.state_dict()
        floats = [name for name, each in present.items() if each.is_floating_point()]
        torch._foreach_lerp_([averages[n] for n in floats], [present[n] for n in floats], 1 - decay)
        for name in present.keys() - floats:
            averages[name].copy_(present[name])
        return None
