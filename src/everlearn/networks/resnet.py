"""ResNet-18."""

import torch
from torch import Tensor, nn

from everlearn.networks.backbones import Backbone
from everlearn.networks.layers import MeanPool
from everlearn.networks.normalization import BatchNorm2d, with_renorm
from everlearn.networks.tensors import n_channels


class ResNet18(Backbone):
    """ResNet-18 without its classifier; weights are named as in torchvision."""

    n_features = 512

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_channels(image_shape), 64, 7, 2, 3, bias=False)
        self.bn1 = BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = _resnet_stage(64, 64, stride=1)
        self.layer2 = _resnet_stage(64, 128, stride=2)
        self.layer3 = _resnet_stage(128, 256, stride=2)
        self.layer4 = _resnet_stage(256, 512, stride=2)

    def layers(self) -> list[nn.Module]:
        stem = nn.Sequential(self.conv1, self.bn1, nn.ReLU(inplace=True), self.maxpool)
        last = nn.Sequential(self.layer4, MeanPool())
        return [stem, self.layer1, self.layer2, self.layer3, last]


def resnet18_renorm(image_shape: tuple[int, ...]) -> Backbone:
    """`ResNet18` with batch renormalization."""
    return with_renorm(ResNet18(image_shape))


class _ResNetBlock(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = BatchNorm2d(n_out)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            shortcut = nn.Conv2d(n_in, n_out, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, BatchNorm2d(n_out))

    def forward(self, maps: Tensor) -> Tensor:
        residual = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(maps)))))
        return torch.relu(residual + self.downsample(maps))


def _resnet_stage(n_in: int, n_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(_ResNetBlock(n_in, n_out, stride), _ResNetBlock(n_out, n_out, 1))
