import math

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.networks import (
    BACKBONES,
    GrowingHead,
    NotFinite,
    flops_per_image,
    load_module,
    load_optimizer,
    make_backbone,
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


def test_seeded_leaves_the_global_numbers_alone() -> None:
    torch.manual_seed(1)
    wanted = torch.rand(3)
    torch.manual_seed(1)
    with seeded(5):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), wanted)
    with seeded(5):
        assert torch.equal(torch.rand(3), inside)


@pytest.mark.parametrize("name", BACKBONES)
@pytest.mark.parametrize("shape", [(16, 16), (64, 48), (33, 17, 3)])
def test_backbones_give_features_and_the_same_for_the_same_seed(name: str, shape: tuple[int, ...]) -> None:
    net = make_backbone(name, shape, seed=3).eval()
    images = to_tensor(np.zeros((2, *shape), np.uint8))
    assert net(images).shape == (2, net.n_features)
    again = module_state(make_backbone(name, shape, seed=3))
    assert all((again[key] == value).all() for key, value in module_state(net).items())


def test_flops_of_a_convolution_by_hand() -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Flatten(), nn.Linear(8 * 8 * 8, 10))
    assert flops_per_image(net, (16, 16, 3)) == 2 * (8 * 8 * 8 * 27) + 2 * (512 * 10)
    assert net.training


def test_states_are_copies_and_come_back() -> None:
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


def test_weights_that_are_not_finite_have_no_state() -> None:
    net = nn.Linear(3, 2)
    with torch.no_grad():
        net.bias[1] = math.nan
    with pytest.raises(NotFinite, match="bias"):
        module_state(net)


def test_bytes_are_counted() -> None:
    assert n_bytes(nn.Linear(3, 2)) == 4 * (6 + 2)


def test_a_growing_head_keeps_what_it_knows() -> None:
    head = GrowingHead(n_features=4, capacity=2)
    assert not head.add_labels([10**12, 7])
    with torch.no_grad():
        head.weight.normal_()
    before = head(torch.ones(1, 4))
    assert head.add_labels([5, 7, 6])
    assert head.labels == [10**12, 7, 5, 6]
    after = head(torch.ones(1, 4))
    assert torch.equal(after[:, :2], before)
    assert (after[:, 2:] == 0).all()
    assert head.class_indices([7, 5, 10**12]).tolist() == [1, 2, 0]
