"""Random crops of image tensors, the second views of contrastive methods."""

import torch
from torch import Tensor

from everlearn.networks.devices import to_like
from everlearn.networks.pose import affine_sample
from everlearn.rng import Rng


def random_crops(images: Tensor, min_area: float, rng: Rng) -> Tensor:
    """A random square of each image (n, C, H, W), enlarged; its area is uniform from `min_area` to 1.

    Example:
        >>> from everlearn.rng import rng_at
        >>> images = torch.arange(16.0).view(1, 1, 4, 4)
        >>> torch.equal(random_crops(images, 1.0, rng_at(0, "docs")), images)
        True
        >>> random_crops(images, 0.1, rng_at(0, "docs")).std() < images.std()
        tensor(True)
    """
    n = len(images)
    area, x, y = to_like(rng.uniform(3 * n), images).view(3, n)
    side = (min_area + (1 - min_area) * area).sqrt()
    shifts = (1 - side) * (2 * torch.stack([x, y]) - 1)
    matrices = images.new_zeros(n, 2, 3)
    matrices[:, 0, 0] = matrices[:, 1, 1] = side
    matrices[:, :, 2] = shifts.T
    return affine_sample(images, matrices)
