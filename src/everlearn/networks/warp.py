"""Images seen from another pose."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.networks.similarity import inverse, matrices_of
from everlearn.networks.tensors import MID_GRAY


def to_bytes(images: Tensor) -> npt.NDArray[np.uint8]:
    """Tensors (n, C, H, W) as images (n, H, W[, C]) of bytes, the inverse of `to_tensor`."""
    return to_images(images).round().clip(0, 255).astype(np.uint8)


def to_images(images: Tensor) -> npt.NDArray[np.float32]:
    """Tensors (n, C, H, W) as images (n, H, W[, C]) of levels 0 to 255, not rounded."""
    levels = images.add(MID_GRAY).mul_(255).permute(0, 2, 3, 1)
    result: npt.NDArray[np.float32] = (levels if levels.shape[3] > 1 else levels[..., 0]).numpy()
    return result


def normalise(images: Tensor, poses: Tensor) -> Tensor:
    """Images (n, C, H, W) of things in some pose, brought to the canonical frame.

    What lies outside the image takes the value of its border.
    """
    return sample(images, matrices_of(poses))


def place(images: Tensor, poses: Tensor) -> Tensor:
    """Canonical images (n, C, H, W) brought to a pose.

    Something made smaller is averaged over four points a pixel, as a camera would, lest fine lines vanish.
    """
    ways = inverse(poses)
    # A pixel of scale s sees a square 1 / s wide where the canonical one saw a square 1 wide. Four points at
    # this distance from the middle have the variance that is missing between the two.
    missing = (ways[:, :2].square().sum(1) - 1).clamp_min(0) / 12
    step = missing.sqrt() * (2 / images.shape[-1])
    corners = [torch.stack([dx * step, dy * step], dim=1) for dx in (-1, 1) for dy in (-1, 1)]
    moved = [torch.cat([ways[:, :2], ways[:, 2:] + corner], dim=1) for corner in corners]
    return torch.stack([normalise(images, way) for way in moved]).mean(0)


def sample(images: Tensor, matrices: Tensor) -> Tensor:
    """Images sampled on the grids of (n, 2, 3) matrices, bilinearly, with border values outside."""
    grid = functional.affine_grid(matrices, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
