"""Images to features: two small convolutional nets for two cores, ResNet-18 as in the paper, and an MLP."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import unknown
from everlearn.networks.mobile import MobileNet
from everlearn.networks.normalising import Norm1d, Norm2d
from everlearn.networks.renorm import renormalised
from everlearn.networks.tensors import MID_GRAY, seeded

DIGITS_MEAN, DIGITS_SPREAD = 0.1307, 0.3081
"""Mean and standard deviation of MNIST's pixels."""


class SmallNet(nn.Module):
    """Five strided convolutions and one dense layer; about 370,000 weights at 64 px.

    Args:
        image_shape: (H, W) or (H, W, 3).
        width: channels of the first layer; the others follow.
        n_features: size of the feature it gives.
    """

    def __init__(self, image_shape: tuple[int, ...], width: int = 16, n_features: int = 256) -> None:
        super().__init__()
        self.n_features = n_features
        channels = 1 if len(image_shape) == 2 else image_shape[2]
        w = width
        self.body = nn.Sequential(
            *_five_convolutions(channels, w), convolution(4 * w, 4 * w, stride=2), nn.Flatten()
        )
        n_flat = 4 * w * _halved(image_shape[0], 4) * _halved(image_shape[1], 4)
        self.dense = nn.Sequential(nn.Linear(n_flat, n_features), nn.ReLU(inplace=True))

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_features)."""
        features: Tensor = self.dense(self.body(images))
        return features


class PooledNet(nn.Module):
    """Six convolutions, and of each of the last maps its largest value, normalised; about 140,000 weights.

    What it says of a thing hardly depends on where the thing is, so it learns to tell things apart from
    far fewer images than `SmallNet`, which keeps every place apart; it cannot tell where a thing is. Without
    the last normalisation it loses, within ten tasks, the power to learn a new one.

    Args:
        image_shape: (H, W) or (H, W, 3).
        width: channels of the first layer; the others follow.
        sight: larger images are averaged down to about this many pixels a side before they are looked at.
        normalised: whether features are normalised at last; if not, none is below zero, as with MobileNet and
            ResNet.
    """

    def __init__(
        self, image_shape: tuple[int, ...], width: int = 16, sight: int = 32, *, normalised: bool = True
    ) -> None:
        super().__init__()
        self.n_features = 8 * width
        self.block = max(1, min(image_shape[:2]) // sight)
        channels = 1 if len(image_shape) == 2 else image_shape[2]
        self.body = nn.Sequential(*_five_convolutions(channels, width), convolution(4 * width, 8 * width))
        self.norm = Norm1d(8 * width) if normalised else nn.Identity()

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_features)."""
        seen = functional.avg_pool2d(images, self.block) if self.block > 1 else images
        maps: Tensor = self.body(seen.contiguous(memory_format=torch.channels_last))
        features: Tensor = self.norm(maps.amax(dim=(2, 3)))
        return features


def _five_convolutions(channels: int, width: int) -> list[nn.Sequential]:
    """What both small nets begin with: to an eighth of the side, and four times the width."""
    return [
        convolution(channels, width, kernel=5, stride=2),
        convolution(width, 2 * width, stride=2),
        convolution(2 * width, 2 * width),
        convolution(2 * width, 4 * width, stride=2),
        convolution(4 * width, 4 * width),
    ]


def convolution(n_in: int, n_out: int, *, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """Convolution, batch normalisation, ReLU."""
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, bias=False),
        Norm2d(n_out),
        nn.ReLU(inplace=True),
    )


class MLP(nn.Module):
    """Two dense layers: what the literature trains on digits; no batch normalisation, no convolution.

    Pixels are standardised as they usually are for digits, since plain descent is sensitive to it.

    Args:
        image_shape: (H, W) or (H, W, 3).
        width: units of each layer.
    """

    def __init__(self, image_shape: tuple[int, ...], width: int = 400) -> None:
        super().__init__()
        self.n_features = width
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(math.prod(image_shape), width),
            nn.ReLU(inplace=True),
            nn.Linear(width, width),
            nn.ReLU(inplace=True),
        )

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, width)."""
        features: Tensor = self.layers((images + (MID_GRAY - DIGITS_MEAN)) / DIGITS_SPREAD)
        return features


class ResNet18(nn.Module):
    """The usual ResNet-18 without its classifier; weights are named as torchvision names them."""

    n_features = 512

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        super().__init__()
        channels = 1 if len(image_shape) == 2 else image_shape[2]
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.bn1 = Norm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = _stage(64, 64, stride=1)
        self.layer2 = _stage(64, 128, stride=2)
        self.layer3 = _stage(128, 256, stride=2)
        self.layer4 = _stage(256, 512, stride=2)

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, 512)."""
        maps = self.maxpool(torch.relu(self.bn1(self.conv1(images))))
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        return torch.mean(maps, dim=(2, 3))


class _Block(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = Norm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = Norm2d(n_out)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            shortcut = nn.Conv2d(n_in, n_out, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, Norm2d(n_out))

    def forward(self, maps: Tensor) -> Tensor:
        change = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(maps)))))
        return torch.relu(change + self.downsample(maps))


def _stage(n_in: int, n_out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(_Block(n_in, n_out, stride), _Block(n_out, n_out, 1))


def _halved(size: int, times: int) -> int:
    for _ in range(times):
        size = (size + 1) // 2
    return size


BACKBONES: dict[str, Callable[[tuple[int, ...]], nn.Module]] = {
    "small": SmallNet,
    "pooled": PooledNet,
    "resnet18": ResNet18,
    "mlp": MLP,
    "mobile": MobileNet,
    "small-renorm": lambda shape: renormalised(SmallNet(shape)),
    "pooled-renorm": lambda shape: renormalised(PooledNet(shape)),
    "pooled-relu-renorm": lambda shape: renormalised(PooledNet(shape, normalised=False)),
    "resnet18-renorm": lambda shape: renormalised(ResNet18(shape)),
}


def make_backbone(name: str, image_shape: tuple[int, ...], seed: int) -> nn.Module:
    """A fresh backbone by name; it has `n_features` outputs and the same weights for the same seed."""
    if name not in BACKBONES:
        raise unknown("backbone", name, BACKBONES)
    with seeded(seed):
        return BACKBONES[name](image_shape)
