import numpy as np
import torch

from everlearn.networks.crops import random_crops
from everlearn.rng import rng_at

N = 400
COORDINATES = torch.stack(torch.meshgrid(*[(torch.arange(32) + 0.5) / 32] * 2, indexing="ij")).expand(
    N, 2, 32, 32
)
"""Images whose channels are the y and the x of each pixel, so that a crop shows where it was cut."""


def test_crops_are_squares_inside_the_image_of_uniform_area() -> None:
    crops = random_crops(COORDINATES, 0.25, rng_at(0, "test crops"))
    first, last = crops[:, :, 8, 8], crops[:, :, 23, 23]  # apart from the border, where samples are clamped
    side = (last - first) * 32 / 15
    torch.testing.assert_close(side[:, 0], side[:, 1], atol=1e-4, rtol=0)
    corner = first - side * 8.5 / 32
    assert corner.min() > -1e-3
    assert (corner + side).max() < 1 + 1e-3
    area = np.sort(side[:, 0].square().numpy())
    np.testing.assert_allclose(area, np.linspace(0.25, 1, N), atol=0.07)


def test_position_of_a_crop_is_uniform() -> None:
    crops = random_crops(COORDINATES, 0.25, rng_at(1, "test crops"))
    centers = crops[:, :, 15:17, 15:17].mean((2, 3))
    np.testing.assert_allclose(centers.mean(0), 0.5, atol=0.03)
    assert abs(np.corrcoef(centers.T.numpy())[0, 1]) < 0.15
