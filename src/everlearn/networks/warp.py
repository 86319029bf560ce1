"""Pictures seen from another pose."""

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional

from everlearn.networks.similarity import inverse, matrices_of
from everlearn.networks.tensors import MID_GRAY


def to_pictures(images: Tensor) -> npt.NDArray[np.float32]:
    """Tensors (n, C, H, W) as pictures (n, H, W[, C]) of levels 0 to 255, not rounded."""
    levels = images.add(MID_GRAY).mul_(255).permute(0, 2, 3, 1)
    pictures: npt.NDArray[np.float32] = (levels if levels.shape[3] > 1 else levels[..., 0]).numpy()
    return pictures


def normalise(images: Tensor, poses: Tensor) -> Tensor:
    """Pictures (n, C, H, W) of things in some pose, brought to the canonical frame.

    What lies outside the picture takes the value of its border.
    """
    return sample(images, matrices_of(poses))


def place(images: Tensor, poses: Tensor) -> Tensor:
    """Canonical pictures (n, C, H, W) brought to a pose.

    Something made smaller is averaged over four points a pixel, as a camera would, lest fine lines vanish.
    """
    ways = inverse(poses)
    size = images.shape[-1]
    views = []
    for dx in (-0.5, 0.5):
        for dy in (-0.5, 0.5):
            shifted = matrices_of(ways).clone()
            # A quarter of a pixel of the small picture, or none where it is not smaller.
            step = (ways[:, :2].norm(dim=1).square() - 1).clamp_min(0).div(12).sqrt().mul(4 / size)
            shifted[:, 0, 2] += dx * step
            shifted[:, 1, 2] += dy * step
            views.append(sample(images, shifted))
    return sum(views[1:], views[0]) / len(views)


def sample(images: Tensor, matrices: Tensor) -> Tensor:
    """Pictures sampled on the grids of (n, 2, 3) matrices, bilinearly, with border values outside."""
    grid = functional.affine_grid(matrices, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
