"""A network for small machines: depthwise convolutions, renormalised."""

from collections import OrderedDict
from itertools import chain, pairwise

from torch import Tensor, nn

from everlearn.networks.renorm import BatchRenorm

LAYERS = (
    ("conv2_1", 64, 1), ("conv2_2", 128, 2), ("conv3_1", 128, 1), ("conv3_2", 256, 2), ("conv4_1", 256, 1),
    ("conv4_2", 512, 2), ("conv5_1", 512, 1), ("conv5_2", 512, 1), ("conv5_3", 512, 1), ("conv5_4", 512, 1),
    ("conv5_5", 512, 1), ("conv5_6", 1024, 2), ("conv6", 1024, 1),
)  # fmt: skip
"""Name, width and stride of each pair of convolutions after the first layer."""


class MobileNet(nn.Sequential):
    """MobileNet (the first), without its classifier; about 3,200,000 weights, 14 layers and a mean.

    Args:
        image_shape: (H, W) or (H, W, 3).

    Example:
        >>> [name for name, _ in MobileNet((32, 32)).named_children()][:3]
        ['conv1', 'conv2_1', 'conv2_2']

    Reference: Howard et al. 2017, "MobileNets: efficient convolutional neural networks for mobile vision
    applications", arXiv:1704.04861.
    """

    n_features = LAYERS[-1][1]

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        channels = 1 if len(image_shape) == 2 else image_shape[2]
        widths = pairwise(chain([32], (width for _, width, _ in LAYERS)))
        pairs = {
            name: nn.Sequential(
                *_convolution(n_in, n_in, kernel=3, stride=stride, groups=n_in), *_convolution(n_in, n_out)
            )
            for (name, _, stride), (n_in, n_out) in zip(LAYERS, widths, strict=True)
        }
        first = nn.Sequential(*_convolution(channels, 32, kernel=3, stride=2))
        super().__init__(OrderedDict(conv1=first, **pairs, mean=_Mean()))


class _Mean(nn.Module):
    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3))


def _convolution(
    n_in: int, n_out: int, *, kernel: int = 1, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    return [
        nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False),
        BatchRenorm(n_out),
        nn.ReLU(inplace=True),
    ]
