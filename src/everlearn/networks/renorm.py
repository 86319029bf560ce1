"""Normalisation that does not care who else is in the batch."""

import torch
from torch import Tensor, nn

LARGEST_STRETCH = 1.25
"""How much more or less a batch may be stretched than the averages say."""
LARGEST_SHIFT = 0.5
"""How far, in standard deviations, a batch may be moved from where the averages say."""


class BatchRenorm(nn.Module):
    """Batch normalisation corrected towards what it will do when it is asked: batch renormalisation.

    With m, s the mean and standard deviation of a batch and M, S their averages over batches so far, training
    gives (x - m) / s * r + d, where r = s / S and d = (m - M) / S are held within limits and taken as
    constants. Within the limits that is (x - M) / S, what an answer is made with, so a batch of one class
    does no harm. The first batches count alike, later ones with `pace`.

    Args:
        n_channels: channels of what comes in, its second dimension.
        pace: how much a batch moves the averages.

    Example:
        >>> layer = BatchRenorm(1)
        >>> layer(torch.tensor([[1.0], [3.0]])).shape, layer.mean
        (torch.Size([2, 1]), tensor([2.]))

    Reference: Ioffe 2017, "Batch renormalization", arXiv:1702.03275.
    """

    mean: Tensor
    deviation: Tensor
    n_batches: Tensor

    def __init__(self, n_channels: int, pace: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.pace, self.epsilon = pace, epsilon
        self.weight = nn.Parameter(torch.ones(n_channels))
        self.bias = nn.Parameter(torch.zeros(n_channels))
        self.register_buffer("mean", torch.zeros(n_channels))
        self.register_buffer("deviation", torch.ones(n_channels))
        self.register_buffer("n_batches", torch.zeros((), dtype=torch.long))

    def forward(self, given: Tensor) -> Tensor:
        """(n, C, ...) -> the same shape."""
        stretch, shift = (
            self._by_batch(given) if self.training else (1 / self.deviation, -self.mean / self.deviation)
        )
        stretch, shift = stretch * self.weight, shift * self.weight + self.bias
        return torch.addcmul(_along(shift, given), given, _along(stretch, given))

    def _by_batch(self, given: Tensor) -> tuple[Tensor, Tensor]:
        """Stretch and shift by the batch itself, corrected by the averages, which then move."""
        variance, mean = torch.var_mean(given, dim=[0, *range(2, given.ndim)], correction=0)
        deviation = (variance + self.epsilon).sqrt()
        with torch.no_grad():
            self._begin(mean, deviation)
            r = (deviation / self.deviation).clamp(1 / LARGEST_STRETCH, LARGEST_STRETCH)
            d = ((mean - self.mean) / self.deviation).clamp(-LARGEST_SHIFT, LARGEST_SHIFT)
            self._move(mean, deviation)
        return r / deviation, d - mean * r / deviation

    def _begin(self, mean: Tensor, deviation: Tensor) -> None:
        if int(self.n_batches) == 0:
            self.mean.copy_(mean)
            self.deviation.copy_(deviation)

    def _move(self, mean: Tensor, deviation: Tensor) -> None:
        self.n_batches += 1
        share = max(self.pace, 1 / int(self.n_batches))
        self.mean.lerp_(mean, share)
        self.deviation.lerp_(deviation, share)


def renormalised(net: nn.Module) -> nn.Module:
    """The net itself, with renormalisation wherever it normalised by batches.

    Example:
        >>> renormalised(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)))[1]
        BatchRenorm()
    """
    for parent in list(net.modules()):
        for name, layer in parent.named_children():
            if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
                setattr(parent, name, BatchRenorm(layer.num_features))
    return net


def set_pace(net: nn.Module, pace: float) -> None:
    """Say how much a batch moves the averages of all renormalising layers."""
    for layer in net.modules():
        if isinstance(layer, BatchRenorm):
            layer.pace = pace


def _along(numbers: Tensor, given: Tensor) -> Tensor:
    """One number per channel, shaped to meet (n, C, ...)."""
    return numbers.view(1, -1, *[1] * (given.ndim - 2))
