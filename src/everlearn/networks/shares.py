"""Networks whose work several processes share: each computes some of the images, all get all outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from everlearn.errors import BadInput
from everlearn.networks.normalising import NormTogether
from everlearn.networks.partners import gathered, n_partners, share, summed

Net = TypeVar("Net", bound=nn.Module)


def data_parallel(net: Net) -> Net:
    """The same network, which from now on computes only this process's share of the images it is given.

    Whoever uses it sees no difference: it is given all images, the outputs are those of all images, and the
    slopes of its weights are those of the whole loss. Everything after it (heads, losses, memories) happens
    in every process alike, so it may mix images as it likes. Batch normalisation sees the whole batch.
    A process that plays alone gets back what it gave.

    Args:
        net: takes images, one in each row, and gives one row for each; it is changed, not copied.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> data_parallel(layer) is layer, type(layer).__name__
        (True, 'Linear')
    """
    if n_partners() > 1:
        for module in list(net.modules()):
            if any(True for _ in module.buffers(recurse=False)):
                _mix_in(NormTogether, _known_norm(module))
        _mix_in(_InShares, net)
    return net


def _known_norm(module: nn.Module) -> nn.Module:
    """The module itself, or a complaint: what else keeps numbers of a batch would keep those of a share."""
    if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d) and module.affine:
        return module
    raise BadInput(
        f"this network has {type(module).__name__}, whose numbers processes cannot share; use one process"
    )


def _mix_in(part: type[nn.Module], module: nn.Module) -> None:
    """Let `part` act before the module's own class; weights, their names and references stay."""
    kind = type(module)
    module.__class__ = type(kind.__name__, (part, kind), {})


class _InShares(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        """All outputs, most of them computed by others; images too few to share are everybody's."""
        if images.requires_grad:
            raise TypeError("slopes of images do not reach beyond a network that is computed in shares")
        weights = [w for w in self.parameters() if w.requires_grad and torch.is_grad_enabled()]
        is_shared = len(images) >= n_partners() > 1
        outputs: Tensor = (
            _Shared.apply(self._forward_together, images, *weights)  # type: ignore[no-untyped-call]
            if is_shared
            else super().forward(images)
        )
        return outputs

    def _forward_together(self, images: Tensor) -> Tensor:
        with _together(self):
            outputs: Tensor = super().forward(images)
        return outputs


class _Shared(torch.autograd.Function):
    """Forward: all rows, of which one share is computed here. Backward: slopes summed over the shares."""

    @staticmethod
    def forward(ctx: Any, net: Any, images: Tensor, *weights: Tensor) -> Tensor:
        ctx.rows, ctx.weights = share(len(images)), weights
        with torch.set_grad_enabled(any(ctx.needs_input_grad)):
            ctx.own = net(images[ctx.rows])
        return gathered(ctx.own.detach(), len(images))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        own = torch.autograd.grad(ctx.own, ctx.weights, slopes[ctx.rows])
        return None, None, *summed(own)


@contextmanager
def _together(net: nn.Module) -> Iterator[None]:
    norms = [module for module in net.modules() if isinstance(module, NormTogether)]
    for norm in norms:
        norm.together = True
    try:
        yield
    finally:
        for norm in norms:
            norm.together = False
