"""A network that sees poses, and the average of its past selves."""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.networks.backbones import SmallNet
from everlearn.networks.similarity import CANONICAL, compose, not_tiny
from everlearn.networks.tensors import seeded
from everlearn.networks.warp import normalise


class PoseNet(nn.Module):
    """Pictures to the four numbers of a similarity; a fresh one answers close to the canonical pose.

    Args:
        image_shape: (H, W) or (H, W, 3).
        sight: larger pictures are averaged down to about this many pixels a side before they are looked at.
        width: channels of the first layer; the others follow.
        seed: decides the first weights.
    """

    def __init__(
        self, image_shape: tuple[int, ...], *, sight: int = 32, width: int = 16, seed: int = 0
    ) -> None:
        super().__init__()
        check_range("sight", sight, 8, 512)
        check_range("width", width, 1, 512)
        self.block = max(1, min(image_shape[:2]) // sight)
        seen = (image_shape[0] // self.block, image_shape[1] // self.block, *image_shape[2:])
        with seeded(seed):
            self.body = SmallNet(seen, width=width)
            self.head = nn.Linear(self.body.n_features, 4)
        with torch.no_grad():
            self.head.weight.mul_(0.1)
            self.head.bias.copy_(torch.tensor(CANONICAL))

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, 4)."""
        seen = functional.avg_pool2d(images, self.block) if self.block > 1 else images
        poses: Tensor = self.head(self.body(seen.contiguous(memory_format=torch.channels_last)))
        return poses


@torch.no_grad()
def look(net: nn.Module, images: Tensor, looks: int) -> Tensor:
    """See a pose, bring the picture to the canonical frame by it, look again and correct."""
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
