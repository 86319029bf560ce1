"""A network that regresses poses, and an exponential moving average of weights."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks import pose
from everlearn.networks.backbones import SmallNet, make_backbone
from everlearn.networks.tensors import seeded


class PoseNet(nn.Module):
    """Regresses poses (n, 4) from images; initialized close to the canonical pose.

    Args:
        image_shape: (H, W) or (H, W, 3).
        backbone: "small" or "resnet18".
        input_size: larger images are average-pooled to about this many pixels per side.
        width: channels of the first layer of the small backbone.
        parameterization: what the last layer outputs and the loss compares: the four numbers of a
            "similarity", or the six of its affine "matrix".
        seed: seed of the initial weights.
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        *,
        backbone: str = "small",
        input_size: int = 32,
        width: int = 16,
        parameterization: str = "similarity",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.parameterization = parameterization
        self.pool = max(1, min(image_shape[:2]) // input_size)
        pooled = (image_shape[0] // self.pool, image_shape[1] // self.pool, *image_shape[2:])
        with seeded(seed):
            small = backbone == "small"
            self.backbone = SmallNet(pooled, width) if small else make_backbone(backbone, pooled, seed)
            self.head = nn.Linear(self.backbone.n_features, 4 if parameterization == "similarity" else 6)
        with torch.no_grad():
            self.head.weight.mul_(0.1)
            self.head.bias.copy_(self._targets(torch.tensor([pose.CANONICAL]))[0])

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, 4)."""
        outputs = self._outputs(images)
        if self.parameterization == "similarity":
            return outputs
        return pose.poses_from_matrices(outputs.reshape(-1, 2, 3))

    def errors(self, images: Tensor, poses: Tensor) -> Tensor:
        """Outputs minus targets, (n, 4) or (n, 6)."""
        return self._outputs(images) - self._targets(poses)

    def _outputs(self, images: Tensor) -> Tensor:
        pooled = functional.avg_pool2d(images, self.pool) if self.pool > 1 else images
        return self.head(self.backbone(pooled.contiguous(memory_format=torch.channels_last)))

    def _targets(self, poses: Tensor) -> Tensor:
        return poses if self.parameterization == "similarity" else pose.matrices_from_poses(poses).flatten(1)


@torch.no_grad()
def predict_poses(
    net: nn.Module,
    images: Tensor,
    n_refinements: int = 0,
    warp: Callable[[Tensor, Tensor], Tensor] = pose.to_canonical,
) -> Tensor:
    """Predict poses, then refine: warp to the canonical frame, predict the remaining pose, and compose."""
    poses: Tensor = net(images)
    for _ in range(n_refinements):
        poses = pose.compose(poses, net(warp(images, poses)))
    return pose.clamp_scale(poses)


class EMA(nn.Module):
    """Exponential moving average of a network's weights; with decay 0, a copy of the latest ones."""

    def __init__(self, net: nn.Module, decay: float) -> None:
        super().__init__()
        self.net = copy.deepcopy(net).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, net: nn.Module, n_steps: int) -> None:
        """Update the average after an optimizer step; the decay is smaller in the first steps."""
        rate = 1 - min(self.decay, (1 + n_steps) / (10 + n_steps))
        average, current = self.net.state_dict(), net.state_dict()
        names = [name for name, tensor in average.items() if tensor.is_floating_point()]
        torch._foreach_lerp_([average[name] for name in names], [current[name] for name in names], rate)
