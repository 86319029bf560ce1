import math

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.networks import (
    NotFinite,
    flops_per_image,
    load_module,
    load_optimizer,
    module_state,
    n_bytes,
    optimizer_state,
    seeded,
    to_tensor,
)


@pytest.mark.parametrize(
    ("shape", "expected"), [((4, 16, 20), (4, 1, 16, 20)), ((4, 16, 20, 3), (4, 3, 16, 20))]
)
def test_images_become_tensors(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    tensor = to_tensor(images)
    assert tensor.shape == expected
    assert tensor[1, 0, 2, 3] == pytest.approx(images[1, 2, 3].flat[0] / 255 - 0.66)
    tensor.zero_()
    assert images.any()


def test_seeded_does_not_change_global_random_numbers() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(5):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    with seeded(5):
        assert torch.equal(torch.rand(3), inside)


def test_flops_of_a_convolution_by_hand() -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Flatten(), nn.Linear(8 * 8 * 8, 10))
    assert flops_per_image(net, (16, 16, 3)) == 2 * (8 * 8 * 8 * 27) + 2 * (512 * 10)
    assert net.training


def test_states_are_copies_and_can_be_loaded() -> None:
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    weights, slots = module_state(net), optimizer_state(optimizer)
    before = weights["weight"].copy()
    optimizer.step()
    assert (weights["weight"] == before).all()
    load_module(other, weights)
    moved = torch.optim.Adam(other.parameters())
    load_optimizer(moved, slots)
    for parameter, original in zip(other.parameters(), net.parameters(), strict=True):
        parameter.grad = original.grad
    moved.step()
    assert torch.equal(other.weight, net.weight)


def test_state_of_infinite_weights_is_refused() -> None:
    net = nn.Linear(3, 2)
    with torch.no_grad():
        net.bias[1] = math.nan
    with pytest.raises(NotFinite, match="bias"):
        module_state(net)


def test_n_bytes() -> None:
    assert n_bytes(nn.Linear(3, 2)) == 4 * (6 + 2)
