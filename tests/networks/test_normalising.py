"""Batch normalisation: as torch's own, but for what torch refuses."""

import pytest
import torch
from torch import nn

from everlearn.networks.normalising import Norm1d, Norm2d

CASES = [(Norm1d, nn.BatchNorm1d, ()), (Norm2d, nn.BatchNorm2d, (4, 4))]


@pytest.mark.parametrize(("ours", "theirs", "map_shape"), CASES)
def test_a_batch_is_normalised_as_torch_does(
    ours: type[nn.Module], theirs: type[nn.Module], map_shape: tuple[int, ...]
) -> None:
    given = torch.rand(5, 3, *map_shape)
    one, other = ours(3), theirs(3)
    assert torch.equal(one(given), other(given))
    assert all(torch.equal(a, b) for a, b in zip(one.buffers(), other.buffers(), strict=True))


@pytest.mark.parametrize(("ours", "theirs", "map_shape"), CASES)
def test_a_lone_value_is_normalised_by_the_averages_and_leaves_them(
    ours: type[nn.Module], theirs: type[nn.Module], map_shape: tuple[int, ...]
) -> None:
    one = ours(3)
    one(torch.rand(5, 3, *map_shape))
    averages = [each.clone() for each in one.buffers()]
    alone = torch.rand(1, 3, *(1 for _ in map_shape))
    learned = one(alone)
    assert torch.equal(learned, one.eval()(alone))
    assert learned.requires_grad
    assert all(torch.equal(a, b) for a, b in zip(one.buffers(), averages, strict=True))
