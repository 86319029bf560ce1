"""Backbones that fit weights pretrained on ImageNet: EfficientNet-Lite0 and MobileNet v1."""

import math
from collections import OrderedDict
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks.backbones import Backbone
from everlearn.networks.layers import MeanPool
from everlearn.networks.normalization import BatchNorm2d
from everlearn.networks.published_weights import EPSILON, LITE0_STAGES, MOBILENET_LAYERS
from everlearn.networks.tensors import MID_GRAY


class SamePadConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding: an odd pixel is added at the end.

    Example:
        >>> SamePadConv2d(3, 8, 3, stride=2)(torch.zeros(1, 3, 7, 8)).shape
        torch.Size([1, 8, 4, 4])
    """

    def forward(self, maps: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_out, H / stride, W / stride), rounded up."""
        sides = zip(maps.shape[2:], self.kernel_size, self.stride, strict=True)
        rows, columns = (max((math.ceil(n / s) - 1) * s + k - n, 0) for n, k, s in sides)
        if rows or columns:
            maps = functional.pad(maps, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        if self.groups > 1:  # twice as fast on a CPU
            maps = maps.contiguous(memory_format=torch.channels_last)
        return functional.conv2d(maps, self.weight, self.bias, self.stride, 0, 1, self.groups)


class ImageNetBackbone(nn.Sequential, Backbone):
    """A backbone of named layers with ImageNet weights; gray images are repeated as three channels.

    Images have any size. The last layer is the mean over positions; `maps` gives the features before it.
    """

    n_features: int
    image_size: ClassVar[int] = 224  # pixels per side that the network was trained with
    published_name: ClassVar[str]  # of its weights

    def layers(self) -> list[nn.Module]:
        return list(self)

    def layer_names(self) -> list[str]:
        """The names of `layers`, as `split_layers` accepts them."""
        return [name for name, _ in self.named_children()]

    def maps(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_features, H / 32, W / 32), rounded up."""
        for layer in self.layers()[:-1]:
            images = layer(images)
        return images


class EfficientNetLite0(ImageNetBackbone):
    """EfficientNet-Lite0 without its classifier: 3,400,000 weights, 20 layers.

    Example:
        >>> net = EfficientNetLite0((96, 96, 3)).eval()
        >>> net.maps(torch.zeros(1, 3, 96, 96)).shape, net.layer_names()[-3:]
        (torch.Size([1, 1280, 3, 3]), ['block16', 'top', 'pool'])

    Reference: Tan and Le 2019, "EfficientNet: rethinking model scaling for convolutional neural networks",
    arXiv:1905.11946; the Lite models have no squeeze-and-excitation, and ReLU6 in place of swish.
    """

    n_features = 1280
    published_name = "efficientnet-lite0"

    def __init__(self, image_shape: tuple[int, ...] = (224, 224, 3)) -> None:
        del image_shape  # any
        layers: dict[str, nn.Module] = {"stem": nn.Sequential(_Normalize(127, 128), _norm_conv(3, 32, 3, 2))}
        n_in = 32
        for n_blocks, kernel, stride, expansion, width in LITE0_STAGES:
            for number in range(n_blocks):
                block = _InvertedResidual(n_in, width, kernel, 1 if number else stride, expansion)
                layers[f"block{len(layers)}"] = block
                n_in = width
        top = _norm_conv(n_in, self.n_features, 1)
        super().__init__(OrderedDict(**layers, top=top, pool=MeanPool()))


class MobileNetV1(ImageNetBackbone):
    """MobileNet v1 without its classifier, as TensorFlow trained it: 3,200,000 weights, 15 layers.

    Example:
        >>> MobileNetV1((64, 64)).layer_names()[:4]
        ['conv1', 'conv2_1', 'conv2_2', 'conv3_1']

    Reference: Howard et al. 2017, "MobileNets: efficient convolutional neural networks for mobile vision
    applications", arXiv:1704.04861.
    """

    published_name = "mobilenet-v1"
    multiplier: ClassVar[float] = 1.0
    n_features = 1024

    def __init__(self, image_shape: tuple[int, ...] = (224, 224, 3)) -> None:
        del image_shape  # any
        n_in = int(32 * self.multiplier)
        layers: dict[str, nn.Module] = {
            "conv1": nn.Sequential(_Normalize(127.5, 127.5), _norm_conv(3, n_in, 3, 2))
        }
        for name, full_width, stride in MOBILENET_LAYERS:
            width = int(full_width * self.multiplier)
            depthwise = _norm_conv(n_in, n_in, 3, stride, groups=n_in)
            layers[name] = nn.Sequential(depthwise, _norm_conv(n_in, width, 1))
            n_in = width
        super().__init__(OrderedDict(**layers, mean=MeanPool()))


class MobileNetV1Quarter(MobileNetV1):
    """MobileNet v1 with a quarter of the channels: 214,000 weights.

    Example:
        >>> MobileNetV1Quarter((64, 64))(torch.zeros(1, 1, 64, 64)).shape
        torch.Size([1, 256])
    """

    published_name = "mobilenet-v1-0.25"
    multiplier = 0.25
    n_features = 256


class _Normalize(nn.Module):
    """Tensors of `to_tensor` in the range that the network was trained with: (level - mean) / std, RGB."""

    def __init__(self, mean: float, std: float) -> None:
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[1] == 1:
            images = images.expand(-1, 3, -1, -1)
        return (images * (255 / self.std) + (255 * MID_GRAY - self.mean) / self.std).contiguous(
            memory_format=torch.channels_last
        )


class _InvertedResidual(nn.Module):
    """Expand, convolve each channel, project; with a shortcut where shapes agree."""

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        n_hidden = n_in * expansion
        self.expand = _norm_conv(n_in, n_hidden, 1) if expansion != 1 else None
        self.depthwise = _norm_conv(n_hidden, n_hidden, kernel, stride, groups=n_hidden)
        self.project = _norm_conv(n_hidden, n_out, 1, activation=False)
        self.has_shortcut = stride == 1 and n_in == n_out

    def forward(self, maps: Tensor) -> Tensor:
        hidden = maps if self.expand is None else self.expand(maps)
        projected = self.project(self.depthwise(hidden))
        return maps + projected if self.has_shortcut else projected


def _norm_conv(
    n_in: int, n_out: int, kernel: int, stride: int = 1, *, groups: int = 1, activation: bool = True
) -> nn.Sequential:
    """Convolution, batch normalization, ReLU6."""
    conv = SamePadConv2d(n_in, n_out, kernel, stride, groups=groups, bias=False)
    layers: list[nn.Module] = [conv, BatchNorm2d(n_out, eps=EPSILON)]
    return nn.Sequential(*layers, *([nn.ReLU6(inplace=True)] if activation else []))
