import numpy as np
import pytest
import torch

from everlearn.networks import pose
from everlearn.networks.warping import warp
from everlearn.rng import rng_at


@pytest.mark.parametrize("shape", [(24, 20), (24, 20, 3)], ids=["gray", "colour"])
def test_equals_the_warp_of_torch(shape: tuple[int, ...]) -> None:
    images = rng_at(0, "test").integers(3 * int(np.prod(shape)), 256).reshape(3, *shape).astype(np.uint8)
    rows = np.array([0, 0, 1, 2, 2])
    poses = torch.tensor([[1.0, 0, 0, 0]]) + 0.3 * torch.from_numpy(rng_at(1, "test").normal(20)).reshape(
        5, 4
    )
    expected = pose.canonical_images(images[rows], poses.float())
    found = warp(images, rows, poses.numpy())
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=0.02)
