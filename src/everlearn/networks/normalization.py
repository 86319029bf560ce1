"""Layers of normalization: batch normalization, batch renormalization, group normalization."""

from collections.abc import Callable
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

Net = TypeVar("Net", bound=nn.Module)
Norm = Literal["batch", "renorm", "group"]
"""By statistics of the batch, by these corrected towards running statistics, or by those of each image."""
GROUP_SIZE = 16
"""Channels that group normalization normalizes together."""
MAX_R = 1.25
"""Limit of r in batch renormalization, and of 1 / r."""
MAX_D = 0.5
"""Limit of |d| in batch renormalization."""
PRETRAINED_BATCHES = 1_000_000
"""Batches that pretrained statistics count as, so that `momentum` alone is the weight of a new one."""


class _AnyBatchNorm(nn.modules.batchnorm._BatchNorm):
    """Batch normalization that accepts a single value per channel, as the last batch of a task may have.

    Torch refuses it in training, since it has no variance. Here it is normalized by the running statistics,
    which do not change. With `is_frozen` this holds for all batches.
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


class BatchNorm(_AnyBatchNorm, nn.BatchNorm2d):
    """Batch normalization of features or feature maps."""

    def _check_input_dim(self, x: Tensor) -> None:
        """Any number of dimensions."""


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
        r, d = self.correction(mean, std)
        return r / std, d - mean * r / std

    @torch.no_grad()
    def correction(self, mean: Tensor, std: Tensor) -> tuple[Tensor, Tensor]:
        """The r and d of a training batch; updates the running statistics."""
        is_first = self.n_batches == 0  # a tensor: reading a number would wait for the device
        self.running_mean.copy_(torch.where(is_first, mean, self.running_mean))
        self.running_std.copy_(torch.where(is_first, std, self.running_std))
        r = (std / self.running_std).clamp(1 / MAX_R, MAX_R)
        d = ((mean - self.running_mean) / self.running_std).clamp(-MAX_D, MAX_D)
        self.n_batches += 1
        weight = (1 / self.n_batches).clamp(min=self.momentum)
        self.running_mean.lerp_(mean, weight)
        self.running_std.lerp_(std, weight)
        return r, d


class FusedBatchRenorm(BatchRenorm):
    """Batch renormalization by the kernels of batch normalization: equal but for rounding, and faster.

    Older networks keep `BatchRenorm`, so that their results do not change.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(n, C, ...) -> the same shape."""
        if not self.training or x.numel() == x.shape[1]:  # a single value has no variance
            mean, variance = self.running_mean, self.running_std.square()
            return functional.batch_norm(x, mean, variance, self.weight, self.bias, eps=0.0)
        weight, bias = self.corrected(*self.statistics(x.detach().to(self.running_mean.dtype)))
        return functional.batch_norm(x, None, None, weight, bias, training=True, eps=self.eps)

    def statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each channel; much faster than `var_mean` where there is a kernel."""
        if x.device.type == "mps":
            variance, mean = torch.var_mean(x, dim=[0, *range(2, x.ndim)], correction=0)
            return mean, variance
        return torch.batch_norm_update_stats(x, None, None, 0.0)

    def corrected(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Weight and bias that turn batch normalization into renormalization; updates the statistics."""
        r, d = self.correction(mean, (variance + self.eps).sqrt())
        return self.weight * r, self.weight * d + self.bias


def normalization(layer: nn.Module, norm: Norm) -> nn.Module:
    """A layer of normalization of another kind for the same channels.

    Groups have 16 channels; features without positions form one group, so that groups are not small.

    Example:
        >>> normalization(BatchNorm2d(64), "group").num_groups
        4
    """
    n: int = layer.weight.numel()  # type: ignore[operator]
    if norm == "group":
        is_flat = isinstance(layer, nn.BatchNorm1d) or getattr(layer, "num_groups", 0) == 1
        return nn.GroupNorm(1 if is_flat or n % GROUP_SIZE else n // GROUP_SIZE, n)
    return FusedBatchRenorm(n) if norm == "renorm" else BatchNorm(n)


def with_norm(net: Net, norm: Norm) -> Net:
    """The network itself, with all layers of normalization of one kind.

    Example:
        >>> type(with_norm(nn.Sequential(nn.BatchNorm2d(32)), "group")[0])
        <class 'torch.nn.modules.normalization.GroupNorm'>
    """
    return _with_layers(net, lambda layer: normalization(layer, norm))


def with_renorm(net: Net) -> Net:
    """The network itself, with `BatchRenorm`; for backbones whose results must not change."""
    return _with_layers(net, lambda layer: BatchRenorm(layer.weight.numel()))  # type: ignore[operator]


def _with_layers(net: Net, make: Callable[[nn.Module], nn.Module]) -> Net:
    """The network with each layer of normalization replaced by the result of a function."""
    for parent in list(net.modules()):
        for name, layer in parent.named_children():
            if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d | BatchRenorm | nn.GroupNorm):
                setattr(parent, name, make(layer))
    return net


def keep_statistics(net: Net) -> Net:
    """The network itself, with batch renormalization that starts at the statistics of batch normalization.

    In evaluation the output is the same. In training, batches whose statistics are near the running ones are
    normalized by these, and others by their own; with untrained statistics (`with_norm`) a pretrained network
    would lose what it has learned.

    Example:
        >>> layer = keep_statistics(nn.Sequential(nn.BatchNorm2d(32)))[0]
        >>> round(layer.running_std[0].item(), 3), layer.n_batches.item() > 0
        (1.0, True)
    """
    return _with_layers(net, _renorm_of)


def _renorm_of(layer: nn.Module) -> nn.Module:
    """Batch renormalization with weights and running statistics of batch normalization."""
    if not isinstance(layer, nn.modules.batchnorm._BatchNorm):
        return layer
    renorm, trained = FusedBatchRenorm(layer.num_features, eps=layer.eps), layer.state_dict()
    with torch.no_grad():
        for name in ("weight", "bias", "running_mean"):
            getattr(renorm, name).copy_(trained[name])
        renorm.running_std.copy_((trained["running_var"] + layer.eps).sqrt())
        renorm.n_batches.fill_(PRETRAINED_BATCHES)
    return renorm


def set_renorm_momentum(net: nn.Module, momentum: float) -> None:
    """Set the momentum of all batch renormalization layers."""
    for layer in net.modules():
        if isinstance(layer, BatchRenorm):
            layer.momentum = momentum


def freeze_batch_norm(net: nn.Module) -> None:
    """Normalize by the running statistics in training too, as is usual for a pretrained network.

    Scales and shifts are trained. Batch renormalization, which corrects for small batches, does not change.
    """
    for layer in net.modules():
        if isinstance(layer, _AnyBatchNorm):
            layer.is_frozen = True
