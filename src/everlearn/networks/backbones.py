"""Backbones map images to features: small convolutional networks, MobileNet and an MLP."""

import math
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain, pairwise
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput, unknown
from everlearn.networks.layers import GrowingHead, MaxMeanPool, MeanPool
from everlearn.networks.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchRenorm,
    Norm,
    with_norm,
    with_renorm,
)
from everlearn.networks.tensors import MID_GRAY, load_module, module_state, n_channels, seeded
from everlearn.registry import Registry

POOLED_SIZE = 32
"""Approximate pixels per side to which `PooledNet` reduces larger images."""
COMPACT_SIZE = 16
"""Approximate pixels per side of the first feature maps of `CompactNet`."""
MNIST_MEAN, MNIST_STD = 0.1307, 0.3081
"""Mean and standard deviation of the pixels of MNIST."""


class Backbone(nn.Module):
    """A network that maps images (n, C, H, W) to features (n, n_features).

    Constructors take the `image_shape`, (H, W) or (H, W, 3), and the `width`: the channels of the first
    convolution, of which the others have multiples, or the units of dense layers.

    Example:
        >>> class Thumbnail(Backbone):
        ...     n_features = 4
        ...     def layers(self):
        ...         return [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
        >>> Thumbnail()(torch.zeros(3, 1, 16, 16)).shape
        torch.Size([3, 4])
    """

    n_features: int

    def layers(self) -> list[nn.Module]:
        """The layers, which share the weights of the network; in sequence they compute its features."""
        return [self]

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, n_features)."""
        for layer in self.layers():
            images = layer(images)
        return images


class SmallNet(Backbone):
    """Six convolutions and a dense layer; about 370,000 weights at 64 px."""

    n_features = 256

    def __init__(self, image_shape: tuple[int, ...], width: int = 16) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            *_first_convolutions(image_shape, width), convolution(4 * width, 4 * width, stride=2)
        )
        n_flat = 4 * width * math.ceil(image_shape[0] / 16) * math.ceil(image_shape[1] / 16)
        self.dense = nn.Sequential(nn.Flatten(), nn.Linear(n_flat, self.n_features), nn.ReLU(inplace=True))

    def layers(self) -> list[nn.Module]:
        return [*self.convolutions, self.dense]


class PooledNet(Backbone):
    """Six convolutions and global max pooling, normalized; about 140,000 weights.

    Features hardly depend on the position of an object, so the network needs far fewer images than
    `SmallNet`, but cannot estimate positions. Larger images are reduced to about 32 px. Without the last
    normalization (`normalized`) features are nonnegative as in MobileNet and ResNet, and the network loses
    plasticity within ten tasks.
    """

    def __init__(self, image_shape: tuple[int, ...], width: int = 16, *, normalized: bool = True) -> None:
        super().__init__()
        self.n_features = 8 * width
        self.block = max(1, min(image_shape[:2]) // POOLED_SIZE)
        self.convolutions = nn.Sequential(
            *_first_convolutions(image_shape, width), convolution(4 * width, 8 * width)
        )
        self.norm = BatchNorm1d(8 * width) if normalized else nn.Identity()

    def layers(self) -> list[nn.Module]:
        first, *others = self.convolutions
        pooling = nn.Sequential(_Lambda(lambda maps: maps.amax(dim=(2, 3))), self.norm)
        return [nn.Sequential(_Lambda(self._downsample), first), *others, pooling]

    def _downsample(self, images: Tensor) -> Tensor:
        smaller = functional.avg_pool2d(images, self.block) if self.block > 1 else images
        return _channels_last(smaller)


class CompactNet(Backbone):
    """Six convolutions on maps of 16 px and less, global max and mean pooling; about 140,000 weights.

    The first convolution covers all pixels with a stride that leaves about 16 px, so that the cost hardly
    depends on the size of the images. With batch renormalization the statistics stay valid after a change of
    tasks.
    """

    def __init__(self, image_shape: tuple[int, ...], width: int = 16) -> None:
        super().__init__()
        self.n_features = 16 * width
        stride = max(1, round(min(image_shape[:2]) / COMPACT_SIZE))
        self.convolutions = nn.Sequential(
            convolution(n_channels(image_shape), width, kernel=max(3, 2 * stride - 1), stride=stride),
            convolution(width, 2 * width, stride=2),
            convolution(2 * width, 2 * width),
            convolution(2 * width, 4 * width, stride=2),
            convolution(4 * width, 4 * width),
            convolution(4 * width, 8 * width),
        )
        self.norm = BatchNorm1d(self.n_features)
        with_norm(self, "renorm").to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def layers(self) -> list[nn.Module]:
        first, *others = self.convolutions
        return [
            nn.Sequential(_Lambda(_channels_last), first),
            *others,
            nn.Sequential(MaxMeanPool(), self.norm),
        ]


class MLP(Backbone):
    """Two dense layers, as usual for MNIST; no batch normalization.

    Pixels are standardized as usual for MNIST, since plain SGD is sensitive to it.
    """

    def __init__(self, image_shape: tuple[int, ...], width: int = 400) -> None:
        super().__init__()
        self.n_features = width
        self.dense = nn.Sequential(
            nn.Flatten(),
            nn.Linear(math.prod(image_shape), width),
            nn.ReLU(inplace=True),
            nn.Linear(width, width),
            nn.ReLU(inplace=True),
        )

    def layers(self) -> list[nn.Module]:
        flatten, first, relu, *second = self.dense
        return [nn.Sequential(_Lambda(_standardize), flatten, first, relu), nn.Sequential(*second)]


class MobileNet(nn.Sequential, Backbone):
    """MobileNet v1 with batch renormalization, without its classifier; about 3,200,000 weights, 15 layers.

    Example:
        >>> [name for name, _ in MobileNet((32, 32)).named_children()][:3]
        ['conv1', 'conv2_1', 'conv2_2']

    Reference: Howard et al. 2017, "MobileNets: efficient convolutional neural networks for mobile vision
    applications", arXiv:1704.04861.
    """

    n_features = 1024

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        from everlearn.networks.published_weights import MOBILENET_LAYERS  # most runs do not need it

        widths = pairwise(chain([32], (width for _, width, _ in MOBILENET_LAYERS)))
        separable = {
            name: nn.Sequential(
                *convolution(n_in, n_in, stride=stride, groups=n_in, norm=BatchRenorm),
                *convolution(n_in, n_out, kernel=1, norm=BatchRenorm),
            )
            for (name, _, stride), (n_in, n_out) in zip(MOBILENET_LAYERS, widths, strict=True)
        }
        first = convolution(n_channels(image_shape), 32, stride=2, norm=BatchRenorm)
        super().__init__(OrderedDict(conv1=first, **separable, mean=MeanPool()))

    def layers(self) -> list[nn.Module]:
        return list(self)


class IncrementalNet(nn.Module):
    """A backbone and a growing head.

    Example:
        >>> net = IncrementalNet(make_backbone("small", (16, 16), seed=0))
        >>> _ = net.head.add_labels([3, 8])
        >>> net(torch.zeros(5, 1, 16, 16)).shape
        torch.Size([5, 2])
    """

    def __init__(self, backbone: Backbone, capacity: int = 16) -> None:
        super().__init__()
        self.backbone, self.n_features = backbone, backbone.n_features
        self.head = GrowingHead(self.n_features, capacity)

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> logits (n, n_labels)."""
        return self.head(self.backbone(images))

    def state(self) -> dict[str, Any]:
        """The states of backbone and head."""
        return {"backbone": module_state(self.backbone), "head": self.head.state()}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        load_module(self.backbone, state["backbone"])
        self.head.load(state["head"])


def convolution(
    n_in: int,
    n_out: int,
    *,
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
    norm: Callable[[int], nn.Module] = BatchNorm2d,
) -> nn.Sequential:
    """Convolution, batch normalization, ReLU."""
    layer = nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, norm(n_out), nn.ReLU(inplace=True))


def small_renorm(image_shape: tuple[int, ...]) -> Backbone:
    """`SmallNet` with batch renormalization."""
    return with_renorm(SmallNet(image_shape))


def pooled_renorm(image_shape: tuple[int, ...]) -> Backbone:
    """`PooledNet` with batch renormalization."""
    return with_renorm(PooledNet(image_shape))


def pooled_relu_renorm(image_shape: tuple[int, ...]) -> Backbone:
    """`PooledNet` with batch renormalization and without its last normalization."""
    return with_renorm(PooledNet(image_shape, normalized=False))


_NAMES = {
    "small": "SmallNet",
    "pooled": "PooledNet",
    "compact": "CompactNet",
    "mlp": "MLP",
    "mobile": "MobileNet",
    "small-renorm": "small_renorm",
    "pooled-renorm": "pooled_renorm",
    "pooled-relu-renorm": "pooled_relu_renorm",
}
_OTHERS = {
    "resnet18": "resnet:ResNet18",
    "resnet18-renorm": "resnet:resnet18_renorm",
    "efficientnet-lite0": "imagenet_backbone:EfficientNetLite0",
    "mobilenet-v1": "imagenet_backbone:MobileNetV1",
    "mobilenet-v1-0.25": "imagenet_backbone:MobileNetV1Quarter",
}
BACKBONES = Registry(
    kind="backbone",
    group="everlearn.backbones",
    builtin={name: f"{__name__}:{function}" for name, function in _NAMES.items()}
    | {name: f"everlearn.networks.{function}" for name, function in _OTHERS.items()},
    expected="a class or function that takes image_shape and gives a torch module with n_features",
    accepts=callable,
)
"""Backbones by name: those of this package, of installed packages, and any by import string or file."""


def make_backbone(
    name: str, image_shape: tuple[int, ...], seed: int, norm: Norm | Literal["own"] = "own"
) -> Backbone:
    """A new backbone by name or reference; the same seed gives the same weights.

    `norm` replaces its layers of normalization; "own" leaves them.

    Example:
        >>> backbone = make_backbone("mlp", (16, 16), seed=0)
        >>> backbone.n_features, backbone(torch.zeros(2, 1, 16, 16)).shape
        (400, torch.Size([2, 400]))
    """
    build = BACKBONES.get(name)
    with seeded(seed):
        backbone = build(image_shape)
    if not isinstance(backbone, nn.Module) or not isinstance(getattr(backbone, "n_features", None), int):
        raise BadInput(f"{name} gave {type(backbone).__name__}; it must give a torch module with n_features")
    return cast(Backbone, backbone) if norm == "own" else with_norm(cast(Backbone, backbone), norm)


def split_layers(net: Backbone, n: int | str) -> tuple[nn.Sequential, nn.Sequential]:
    """The first n layers of a backbone, or those up to a named one, and the others; they share its weights.

    Example:
        >>> net = make_backbone("mlp", (16, 16), seed=0)
        >>> lower, upper = split_layers(net, 1)
        >>> images = torch.zeros(2, 1, 16, 16)
        >>> torch.equal(upper(lower(images)), net(images))
        True
    """
    layers = net.layers()
    if isinstance(n, str):
        names = [name for name, _ in net.named_children()] if isinstance(net, nn.Sequential) else []
        if n not in names:
            raise unknown("layer", n, names or map(str, range(len(layers) + 1)))
        n = names.index(n) + 1
    if not 0 <= n <= len(layers):
        raise BadInput(f"there is no layer {n}; this network has layers 0 to {len(layers)}")
    return nn.Sequential(*layers[:n]), nn.Sequential(*layers[n:])


def _first_convolutions(image_shape: tuple[int, ...], width: int) -> list[nn.Sequential]:
    """Five convolutions, to an eighth of the side and four times the width."""
    return [
        convolution(n_channels(image_shape), width, kernel=5, stride=2),
        convolution(width, 2 * width, stride=2),
        convolution(2 * width, 2 * width),
        convolution(2 * width, 4 * width, stride=2),
        convolution(4 * width, 4 * width),
    ]


class _Lambda(nn.Module):
    """A function without weights as a layer."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def _channels_last(images: Tensor) -> Tensor:
    return images.contiguous(memory_format=torch.channels_last)


def _standardize(images: Tensor) -> Tensor:
    return (images + (MID_GRAY - MNIST_MEAN)) / MNIST_STD
