"""A network that sees poses, and the average of its past selves."""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import check_range, unknown
from everlearn.networks.backbones import SmallNet
from everlearn.networks.backbones import backbone as build
from everlearn.networks.similarity import CANONICAL, compose, matrices_of, nearest_similarity, not_tiny
from everlearn.networks.tensors import seeded
from everlearn.networks.warp import normalise

NUMBERS = {"similarity": 4, "matrix": 6}
"""How a pose can be learned: as the four numbers it has, or as the 2x3 matrix they make."""


class PoseNet(nn.Module):
    """Images to the four numbers of a similarity; a fresh one answers close to the canonical pose.

    Args:
        image_shape: (H, W) or (H, W, 3).
        backbone: "small" or "resnet18".
        sight: larger images are averaged down to about this many pixels a side before they are looked at.
        width: channels of the small backbone's first layer; the others follow.
        numbers: "similarity" or "matrix": what the last layer gives and the loss is about.
        seed: decides the first weights.
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        *,
        backbone: str = "small",
        sight: int = 32,
        width: int = 16,
        numbers: str = "similarity",
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_range("sight", sight, 8, 512)
        check_range("width", width, 1, 512)
        if numbers not in NUMBERS:
            raise unknown("way to learn a pose", numbers, NUMBERS)
        self.numbers = numbers
        self.block = max(1, min(image_shape[:2]) // sight)
        seen = (image_shape[0] // self.block, image_shape[1] // self.block, *image_shape[2:])
        with seeded(seed):
            self.body = SmallNet(seen, width=width) if backbone == "small" else build(backbone, seen, seed)
            self.head = nn.Linear(int(self.body.n_features), NUMBERS[numbers])  # type: ignore[arg-type]  # a module's number
        with torch.no_grad():
            self.head.weight.mul_(0.1)
            self.head.bias.copy_(self._numbers_of(torch.tensor([CANONICAL]))[0])

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, 4)."""
        numbers = self._see(images)
        return numbers if self.numbers == "similarity" else nearest_similarity(numbers.reshape(-1, 2, 3))

    def errors(self, images: Tensor, poses: Tensor) -> Tensor:
        """How far off what is seen lies from the truth, number by number."""
        return self._see(images) - self._numbers_of(poses)

    def _see(self, images: Tensor) -> Tensor:
        seen = functional.avg_pool2d(images, self.block) if self.block > 1 else images
        numbers: Tensor = self.head(self.body(seen.contiguous(memory_format=torch.channels_last)))
        return numbers

    def _numbers_of(self, poses: Tensor) -> Tensor:
        return poses if self.numbers == "similarity" else matrices_of(poses).flatten(1)


@torch.no_grad()
def look(net: nn.Module, images: Tensor, looks: int) -> Tensor:
    """See a pose, bring the image to the canonical frame by it, look again and correct."""
    poses: Tensor = net(images)
    for _ in range(looks - 1):
        poses = compose(poses, net(normalise(images, poses)))
    return not_tiny(poses)


class Average:
    """The running average of a network's weights: steadier than any of its moments.

    Args:
        net: the network to follow.
        memory: how much of the average stays at each step; 0 is the network as it is.
    """

    def __init__(self, net: nn.Module, memory: float) -> None:
        self.net = copy.deepcopy(net).eval().requires_grad_(False)
        self.memory = memory

    @torch.no_grad()
    def follow(self, net: nn.Module, n_steps: int) -> None:
        """Take in the weights after a step; early steps count for more, so that the start is forgotten."""
        share = 1 - min(self.memory, (1 + n_steps) / (10 + n_steps))
        ours, theirs = self.net.state_dict(), net.state_dict()
        smooth = [name for name, tensor in ours.items() if tensor.is_floating_point()]
        torch._foreach_lerp_([ours[name] for name in smooth], [theirs[name] for name in smooth], share)
