"""A backbone in two parts: below the layer at which patterns are replayed, and above it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.networks.backbones import DIGITS_MEAN, DIGITS_SPREAD, MLP, PooledNet, ResNet18, SmallNet
from everlearn.networks.tensors import MID_GRAY


def cut(net: nn.Module, layer: int) -> tuple[nn.Sequential, nn.Sequential]:
    """The first so many layers of a backbone, and the others; they share its weights.

    Example:
        >>> below, above = cut(SmallNet((32, 32)), 4)
        >>> below(torch.zeros(1, 1, 32, 32)).shape
        torch.Size([1, 64, 4, 4])
        >>> above(torch.zeros(1, 64, 4, 4)).shape
        torch.Size([1, 256])
    """
    stages = layers(net)
    if not 0 <= layer <= len(stages):
        raise BadInput(f"there is no layer {layer} to cut at; this network has layers 0 to {len(stages)}")
    return nn.Sequential(*stages[:layer]), nn.Sequential(*stages[layer:])


def layers(net: nn.Module) -> list[nn.Module]:
    """The layers of a backbone one after another; a network nobody knows is a single one."""
    match net:
        case SmallNet():
            *convolutions, flat = net.body
            return [*convolutions, nn.Sequential(flat, net.dense)]
        case PooledNet():
            first, *others = net.body
            last = nn.Sequential(_Act(lambda maps: maps.amax(dim=(2, 3))), net.norm)
            return [nn.Sequential(_Act(_shrinking(net.block)), first), *others, last]
        case MLP():
            flat, first, relu, *others = net.layers
            return [nn.Sequential(_Act(_standardised), flat, first, relu), nn.Sequential(*others)]
        case ResNet18():
            stem = nn.Sequential(net.conv1, net.bn1, nn.ReLU(inplace=True), net.maxpool)
            last = nn.Sequential(net.layer4, _Act(lambda maps: maps.mean(dim=(2, 3))))
            return [stem, net.layer1, net.layer2, net.layer3, last]
        case nn.Sequential():
            return list(net)
        case _:
            return [net]


class _Act(nn.Module):
    """Something done between layers that has no weights."""

    def __init__(self, act: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.act = act

    def forward(self, given: Tensor) -> Tensor:
        return self.act(given)


def _standardised(images: Tensor) -> Tensor:
    return (images + (MID_GRAY - DIGITS_MEAN)) / DIGITS_SPREAD


def _shrinking(block: int) -> Callable[[Tensor], Tensor]:
    def shrink(images: Tensor) -> Tensor:
        seen = functional.avg_pool2d(images, block) if block > 1 else images
        return seen.contiguous(memory_format=torch.channels_last)

    return shrink
