"""Layers: a head that grows with the labels, pooling, batch normalization, batch renormalization."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks.devices import to_device
from everlearn.networks.tensors import load_module, module_state, pad_to

MAX_R = 1.25
"""Limit of r in batch renormalization, and of 1 / r."""
MAX_D = 0.5
"""Limit of |d| in batch renormalization."""


class GrowingHead(nn.Module):
    """A linear layer with one logit per label, in the order of their first appearance.

    Capacity grows in powers of two, so that adding a label rarely replaces the parameters.

    Example:
        >>> head = GrowingHead(n_features=3)
        >>> head.add_labels([7, 2, 7])
        False
        >>> head.labels, head(torch.zeros(1, 3)).shape
        ([7, 2], torch.Size([1, 2]))
    """

    def __init__(self, n_features: int, capacity: int = 16) -> None:
        super().__init__()
        self.labels: list[int] = []
        self._index: dict[int, int] = {}
        self.weight = nn.Parameter(torch.zeros(capacity, n_features))
        self.bias = nn.Parameter(torch.zeros(capacity))

    def forward(self, features: Tensor) -> Tensor:
        """(n, n_features) -> logits (n, n_labels)."""
        n = len(self.labels)
        return functional.linear(features, self.weight[:n], self.bias[:n])

    def add_labels(self, labels: Iterable[int]) -> bool:
        """Add labels that are not there yet; True if the parameters were replaced by larger ones."""
        for label in map(int, labels):
            if label not in self._index:
                self._index[label] = len(self.labels)
                self.labels.append(label)
        if len(self.labels) <= len(self.bias):
            return False
        self.resize(1 << (len(self.labels) - 1).bit_length())
        return True

    def class_indices(self, labels: Iterable[int]) -> Tensor:
        """The index of each label's logit."""
        indices = [self._index[int(label)] for label in labels]
        return to_device(torch.tensor(indices, dtype=torch.long), self.weight.device)

    def resize(self, capacity: int) -> None:
        """Replace the parameters by others with `capacity` rows; new rows are zero."""
        weight, bias = self.weight.detach()[:capacity], self.bias.detach()[:capacity]
        self.weight = nn.Parameter(pad_to(weight, torch.Size([capacity, weight.shape[1]])))
        self.bias = nn.Parameter(pad_to(bias, torch.Size([capacity])))

    def state(self) -> dict[str, Any]:
        """Weights and labels."""
        return {**module_state(self), "labels": list(self.labels)}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned, with its capacity."""
        self.labels, self._index = [], {}
        self.resize(len(state["weight"]))
        self.add_labels(state["labels"])
        load_module(self, {name: state[name] for name in ("weight", "bias")})


class MeanPool(nn.Module):
    """The mean over positions, (n, C, H, W) -> (n, C).

    Example:
        >>> MeanPool()(torch.ones(2, 5, 4, 4)).shape
        torch.Size([2, 5])
    """

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3))


class _AnyBatchNorm(nn.modules.batchnorm._BatchNorm):
    """Batch normalization that accepts a single value per channel, as the last batch of a task may have.

    Torch refuses it in training, since it has no variance. Here it is normalized by the running statistics,
    which do not change. With `is_frozen` all batches are.
    """

    is_frozen = False

    def forward(self, x: Tensor) -> Tensor:
        """(n, C, ...) -> (n, C, ...)."""
        if self.training and (self.is_frozen or x.numel() == x.shape[1]):
            return functional.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(x)


class BatchNorm1d(_AnyBatchNorm, nn.BatchNorm1d):
    """Batch normalization of features (n, C), or of a single vector."""


class BatchNorm2d(_AnyBatchNorm, nn.BatchNorm2d):
    """Batch normalization of feature maps (n, C, H, W), or of a single pixel."""


class BatchRenorm(nn.Module):
    """Batch renormalization: batch normalization corrected towards its running statistics.

    With m, s the mean and standard deviation of a batch and M, S their running values, training computes
    (x - m) / s * r + d, where r = s / S and d = (m - M) / S are clipped and treated as constants. Within the
    limits that is (x - M) / S, as in evaluation, so that batches of one class do no harm. The running values
    are plain means over the first batches, and exponential means with `momentum` after that.

    Example:
        >>> layer = BatchRenorm(1)
        >>> layer(torch.tensor([[1.0], [3.0]])).shape, layer.running_mean
        (torch.Size([2, 1]), tensor([2.]))

    Reference: Ioffe 2017, "Batch renormalization", arXiv:1702.03275.
    """

    running_mean: Tensor
    running_std: Tensor
    n_batches: Tensor

    def __init__(self, n_channels: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(n_channels))
        self.bias = nn.Parameter(torch.zeros(n_channels))
        self.register_buffer("running_mean", torch.zeros(n_channels))
        self.register_buffer("running_std", torch.ones(n_channels))
        self.register_buffer("n_batches", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        """(n, C, ...) -> the same shape."""
        if self.training:
            scale, shift = self._of_batch(x)
        else:
            scale, shift = 1 / self.running_std, -self.running_mean / self.running_std
        scale, shift = scale * self.weight, shift * self.weight + self.bias
        shape = (1, -1, *[1] * (x.ndim - 2))
        return torch.addcmul(shift.view(shape), x, scale.view(shape))

    def _of_batch(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scale and shift of a training batch; updates the running statistics."""
        variance, mean = torch.var_mean(x.float(), dim=[0, *range(2, x.ndim)], correction=0)
        std = (variance + self.eps).sqrt()
        with torch.no_grad():
            if int(self.n_batches) == 0:
                self.running_mean.copy_(mean)
                self.running_std.copy_(std)
            r = (std / self.running_std).clamp(1 / MAX_R, MAX_R)
            d = ((mean - self.running_mean) / self.running_std).clamp(-MAX_D, MAX_D)
            self.n_batches += 1
            weight = max(self.momentum, 1 / int(self.n_batches))
            self.running_mean.lerp_(mean, weight)
            self.running_std.lerp_(std, weight)
        return r / std, d - mean * r / std


def set_renorm_momentum(net: nn.Module, momentum: float) -> None:
    """Set the momentum of all batch renormalization layers."""
    for layer in net.modules():
        if isinstance(layer, BatchRenorm):
            layer.momentum = momentum


def freeze_batch_norm(net: nn.Module) -> None:
    """Normalize by the running statistics in training too, as fits a pretrained network.

    Scales and shifts are trained. Batch renormalization, which corrects for small batches, does not change.
    """
    for layer in net.modules():
        if isinstance(layer, _AnyBatchNorm):
            layer.is_frozen = True
