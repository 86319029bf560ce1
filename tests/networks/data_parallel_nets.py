"""Differences between data-parallel networks and the same in one process; every process runs it."""

import copy
import os

import torch
from torch import Tensor, nn

from everlearn.networks import data_parallel, make_backbone
from everlearn.runs.distributed import RankInfo, joined_group

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
SIDE = 16
BACKBONES = ("compact", "small", "pooled", "resnet18", "mlp")
N_IMAGES = (1, 8, 9)
"""Fewer than there are processes, and both with and without a rest."""


def gaps() -> dict[tuple[str, int], float]:
    """For each network and number of images the largest relative gap, over all that training depends on."""
    return {(name, n): _gap(name, n) for name in BACKBONES for n in N_IMAGES if _can_train(name, n)}


def _can_train(name: str, n: int) -> bool:
    return n > 1 or name == "mlp"  # torch normalises no single number


def _gap(name: str, n: int) -> float:
    alone = make_backbone(name, (SIDE, SIDE), seed=0).double()
    shared = data_parallel(copy.deepcopy(alone))
    images = _normal(n, 1, SIDE, SIDE)
    pairs = zip(_results(alone, images), _results(shared, images), strict=True)
    return max(float((a - b).abs().max() / a.abs().max().clamp(min=1e-9)) for a, b in pairs)


def _results(net: nn.Module, images: Tensor) -> list[Tensor]:
    """Loss, gradients and statistics of a loss that mixes images and weights; predictions, also of a copy."""
    outputs = net(images)
    mixed = (outputs @ outputs.T / outputs.shape[1]).sin().sum() + (outputs * _normal(*outputs.shape)).sum()
    weights = list(net.parameters())
    loss = mixed + 0.1 * sum(weight.square().sum() for weight in weights)
    gradients = torch.autograd.grad(loss, weights)
    net.eval()
    with torch.no_grad():
        predictions = net(images), copy.deepcopy(net)(images)
    statistics = [buffer.double() for buffer in net.buffers()]
    return [loss.detach(), *gradients, *statistics, *predictions]


def _normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.double, generator=torch.Generator().manual_seed(0))


if __name__ == "__main__":
    info = RankInfo.from_environment()
    assert info is not None
    with joined_group(info):
        gaps()
