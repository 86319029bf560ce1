"""Batch normalisation, of a lone image as well, and of a batch that several processes hold in shares."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from everlearn.networks.partners import gathered, n_partners, summed


class _OfAny(nn.modules.batchnorm._BatchNorm):
    """Batch normalisation that takes whatever comes.

    One value in a channel, as the last batch of a task may leave it, says nothing about how values spread;
    torch refuses it. It is normalised by the averages, which do not move.
    """

    def forward(self, given: Tensor) -> Tensor:
        """(n, C, ...) -> (n, C, ...)."""
        if self.training and given.numel() == given.shape[1]:
            return functional.batch_norm(
                given, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(given)


class Norm1d(_OfAny, nn.BatchNorm1d):
    """Of features, (n, C)."""


class Norm2d(_OfAny, nn.BatchNorm2d):
    """Of maps, (n, C, H, W)."""


class NormTogether(nn.modules.batchnorm._BatchNorm):
    """Mixed into a batch normalisation, lets it learn from the mean and variance of everybody's images.

    Torch's own, `SyncBatchNorm`, works on graphics cards only.
    """

    together = False
    """Whether the images at hand are a share, and not the same in every process."""

    def forward(self, given: Tensor) -> Tensor:
        """(n, C, ...) -> (n, C, ...)."""
        if not (self.together and self.training):
            return super().forward(given)
        mean, variance, n = _statistics(given.detach())
        self._follow(mean, variance * n / (n - 1))
        normed: Tensor = _Normed.apply(given, self.weight, self.bias, mean, variance, n, self.eps)  # type: ignore[no-untyped-call]
        return normed

    @torch.no_grad()
    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        """Move the averages that answers are given with."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked += 1
        step = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, step)
        self.running_var.lerp_(variance, step)


def _statistics(given: Tensor) -> tuple[Tensor, Tensor, float]:
    """The mean and variance of each channel over everybody's values, and how many values that are."""
    n_own = given.numel() // given.shape[1]
    mean, variance = (each.double() for each in torch.batch_norm_update_stats(given, None, None, 0.0))
    count = torch.full_like(mean, n_own)
    counts, means, variances = gathered(torch.stack([count, mean, variance])[None], n_partners()).unbind(1)
    n = counts.sum(0)
    mean = (counts * means).sum(0) / n
    variance = (counts * (variances + (means - mean).square())).sum(0) / n
    return mean.to(given.dtype), variance.to(given.dtype), float(n[0])


class _Normed(torch.autograd.Function):
    """(x - mean) / deviation * weight + bias, where mean and deviation depend on everybody's x."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, n: float, e: float
    ) -> Tensor:
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.n, ctx.e = n, e
        return functional.batch_norm(x, mean, variance, weight, bias, training=False, eps=e)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, variance = ctx.saved_tensors
        # As if mean and variance were constants, then what is due to their following x.
        for_x, for_weight, for_bias = torch.ops.aten.native_batch_norm_backward(
            slopes, x, weight, mean, variance, None, None, False, ctx.e, [True, True, True]
        )
        with_bias, with_weight = summed([for_bias, for_weight])
        scale = torch.rsqrt(variance + ctx.e)
        tilt = scale.square() * weight * with_weight / ctx.n
        level = scale * weight * with_bias / ctx.n - mean * tilt
        column = (1, -1, *[1] * (x.ndim - 2))
        for_x = for_x.addcmul_(x, -tilt.view(column)).sub_(level.view(column))
        return for_x, for_weight, for_bias, None, None, None, None
