"""Averaged weights: predictions by the moving average of a classifier's weights."""

import torch

from everlearn.learners.distillation import FrozenCopy
from everlearn.networks import IncrementalNet


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
