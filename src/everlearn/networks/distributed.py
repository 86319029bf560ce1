"""Data-parallel networks: each process computes some of the images and receives all outputs.

All processes of a run make the same collective calls in the same order. A single process makes none.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.networks.normalization import FusedBatchRenorm

SHUTDOWN = -1
Net = TypeVar("Net", bound=nn.Module)


class RankLost(BadInput):
    """Another process of the run has ended or cannot be reached."""


class ShutDown(Exception):
    """Process 0 has ended the run."""


def world_size() -> int:
    """The number of processes of the run."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def own_rows(n: int) -> slice:
    """The rows, out of n, that this process computes; each process has about the same number."""
    rank = dist.get_rank() if world_size() > 1 else 0
    return slice(n * rank // world_size(), n * (rank + 1) // world_size())


def all_gather_rows(own: Tensor, n: int) -> Tensor:
    """All n rows; each process contributes its `own_rows`."""
    rows = own.new_zeros(n, *own.shape[1:])
    rows[own_rows(n)] = own
    return _all_reduce(rows)


def all_reduce(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The sums of tensors over all processes, in one message."""
    flat = _all_reduce(torch.cat([tensor.flatten() for tensor in tensors]))
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def all_gather_ints(number: int, other: int = 0) -> list[tuple[int, int]]:
    """Two integers below 2^63 of each process, ordered by rank."""
    own = torch.tensor([number, other], dtype=torch.int64)
    gathered = [torch.empty_like(own) for _ in range(world_size())]
    with _rank_errors():
        dist.all_gather(gathered, own)
    pairs = [(int(first), int(second)) for first, second in gathered]
    if pairs[0][0] == SHUTDOWN != number:
        raise ShutDown
    return pairs


def broadcast_bytes(data: bytes) -> bytes:
    """The bytes of process 0; the other processes pass b""."""
    size, _ = max(all_gather_ints(len(data)))
    sent = torch.frombuffer(bytearray(data.ljust(size)), dtype=torch.uint8)
    with _rank_errors():
        dist.broadcast(sent, src=0)
    return sent.numpy().tobytes()


def shutdown_workers() -> None:
    """End the other processes at their next `all_gather_ints`; for process 0."""
    all_gather_ints(SHUTDOWN)


def _all_reduce(tensor: Tensor) -> Tensor:
    with _rank_errors():
        dist.all_reduce(tensor)
    return tensor


@contextmanager
def _rank_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RankLost(
            "another process of this run has ended or cannot be reached; resume the run"
        ) from error


def data_parallel(net: Net) -> Net:
    """Make a network compute only the rows of this process, and receive the other rows from their processes.

    The interface does not change: the network takes all images and returns all outputs, and its gradients are
    those of the whole loss. Everything after it (heads, losses, buffers) is computed in every process, so it
    may combine images freely. Batch normalization uses the statistics of the whole batch. In a run of one
    process nothing changes.

    Args:
        net: maps each row of its input to a row of its output; it is changed in place.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> data_parallel(layer) is layer, type(layer).__name__
        (True, 'Linear')
    """
    if world_size() > 1:
        for module in list(net.modules()):
            if not any(True for _ in module.buffers(recurse=False)):
                continue
            is_norm = isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d) and module.affine
            if isinstance(module, FusedBatchRenorm):
                _mix_in(_SyncBatchRenorm, module)
                continue
            if not is_norm or not module.momentum:
                raise BadInput(
                    f"the network has a layer {type(module).__name__}, whose statistics cannot be computed "
                    "by several processes; use one process"
                )
            _mix_in(_SyncBatchNorm, module)
        _mix_in(_DataParallel, net)
    return net


def _mix_in(mixin: type[nn.Module], module: nn.Module) -> None:
    """Insert a class before the module's own class; parameters and references stay."""
    cls = type(module)
    module.__class__ = type(cls.__name__, (mixin, cls), {})


class _DataParallel(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        """All outputs; batches smaller than the number of processes are computed by every process."""
        if images.requires_grad:
            raise TypeError("a data-parallel network has no gradients of its images")
        weights = [w for w in self.parameters() if w.requires_grad and torch.is_grad_enabled()]
        if not len(images) >= world_size() > 1:
            return super().forward(images)
        return _Sharded.apply(self._forward_own, images, *weights)  # type: ignore[no-untyped-call]

    def _forward_own(self, images: Tensor) -> Tensor:
        norms = [each for each in self.modules() if isinstance(each, _SyncBatchNorm | _SyncBatchRenorm)]
        for norm in norms:
            norm.is_sharded = True
        try:
            outputs: Tensor = super().forward(images)
        finally:
            for norm in norms:
                norm.is_sharded = False
        return outputs


class _Sharded(torch.autograd.Function):
    """Forward: all rows, some of them computed here. Backward: gradients summed over processes."""

    @staticmethod
    def forward(ctx: Any, net: Any, images: Tensor, *weights: Tensor) -> Tensor:
        ctx.rows, ctx.weights = own_rows(len(images)), weights
        with torch.set_grad_enabled(any(ctx.needs_input_grad)):
            ctx.own = net(images[ctx.rows])
        return all_gather_rows(ctx.own.detach(), len(images))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        own = torch.autograd.grad(ctx.own, ctx.weights, gradients[ctx.rows])
        return None, None, *all_reduce(own)


class _SyncBatchNorm(nn.modules.batchnorm._BatchNorm):
    """A mixin for batch normalization with the statistics of all processes.

    `torch.nn.SyncBatchNorm` works on GPUs only.
    """

    is_sharded = False
    """Whether the current batch consists of the rows of this process."""

    def forward(self, x: Tensor) -> Tensor:
        """(n, C, ...) -> (n, C, ...)."""
        if not (self.is_sharded and self.training):
            return super().forward(x)
        mean, variance, n = _statistics(x.detach())
        self.get_buffer("num_batches_tracked").add_(1)
        for name, value in (("running_mean", mean), ("running_var", variance * n / (n - 1))):
            self.get_buffer(name).lerp_(value, self.momentum or 0.0)
        return _Normalize.apply(x, self.weight, self.bias, mean, variance, n, self.eps)  # type: ignore[no-untyped-call]


class _SyncBatchRenorm(FusedBatchRenorm):
    """A mixin for batch renormalization with the statistics of all processes."""

    is_sharded = False
    """Whether the current batch consists of the rows of this process."""

    def forward(self, x: Tensor) -> Tensor:
        """(n, C, ...) -> (n, C, ...)."""
        if not (self.is_sharded and self.training):
            return super().forward(x)
        mean, variance, n = _statistics(x.detach())
        weight, bias = self.corrected(mean, variance)
        return _Normalize.apply(x, weight, bias, mean, variance, n, self.eps)  # type: ignore[no-untyped-call]


def _statistics(x: Tensor) -> tuple[Tensor, Tensor, float]:
    """Mean and variance of each channel over all processes, and the number of values."""
    n_own = x.numel() // x.shape[1]
    mean, variance = (each.double() for each in torch.batch_norm_update_stats(x, None, None, 0.0))
    count = torch.full_like(mean, n_own)
    gathered = all_gather_rows(torch.stack([count, mean, variance])[None], world_size())
    counts, means, variances = gathered.unbind(1)
    n = counts.sum(0)
    mean = (counts * means).sum(0) / n
    variance = (counts * (variances + (means - mean).square())).sum(0) / n
    return mean.to(x.dtype), variance.to(x.dtype), float(n[0])


class _Normalize(torch.autograd.Function):
    """(x - mean) / std * weight + bias, where mean and std depend on x of all processes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, *statistics: Any) -> Tensor:
        mean, variance, n, eps = statistics
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.n, ctx.eps = n, eps
        return functional.batch_norm(x, mean, variance, weight, bias, training=False, eps=eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, variance = ctx.saved_tensors
        # First with mean and variance as constants, then the terms of their dependence on x.
        grad_x, grad_weight, grad_bias = torch.ops.aten.native_batch_norm_backward(
            gradients, x, weight, mean, variance, None, None, False, ctx.eps, [True, True, True]
        )
        total_grad_bias, total_grad_weight = all_reduce([grad_bias, grad_weight])
        scale = torch.rsqrt(variance + ctx.eps)
        linear = scale.square() * weight * total_grad_weight / ctx.n
        constant = scale * weight * total_grad_bias / ctx.n - mean * linear
        shape = (1, -1, *[1] * (x.ndim - 2))
        grad_x = grad_x.addcmul_(x, -linear.view(shape)).sub_(constant.view(shape))
        return grad_x, grad_weight, grad_bias, None, None, None, None
