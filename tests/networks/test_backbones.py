"""Backbones: what all of them must give, and what sets the pooled one apart."""

import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks.backbones import BACKBONES, make_backbone


@pytest.mark.parametrize("name", BACKBONES)
@pytest.mark.parametrize("image_shape", [(32, 32), (28, 28, 3)], ids=["gray", "colour"])
def test_gives_as_many_features_as_it_says(name: str, image_shape: tuple[int, ...]) -> None:
    net = make_backbone(name, image_shape, seed=0)
    channels = image_shape[2] if len(image_shape) == 3 else 1
    assert net(torch.zeros(2, channels, *image_shape[:2])).shape == (2, net.n_features)


@pytest.mark.parametrize("name", BACKBONES)
def test_the_seed_decides_the_weights(name: str) -> None:
    first, same, other = (make_backbone(name, (32, 32), seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[key], same[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def features_here_and_there(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the same square, eight pixels apart: the stride of all layers together, so that nothing is cut."""
    net = make_backbone(name, (63, 63), seed=0).eval()
    here, there = torch.zeros(2, 1, 1, 63, 63).unbind()
    here[..., 24:34, 24:34] = 1.0
    there[..., 32:42, 32:42] = 1.0
    return net(here), net(there)


def test_the_pooled_net_does_not_care_where_a_thing_is() -> None:
    torch.testing.assert_close(*features_here_and_there("pooled"))


def test_the_small_net_does() -> None:
    here, there = features_here_and_there("small")
    assert not torch.allclose(here, there, rtol=0.01)


def test_an_unknown_backbone_is_a_sentence() -> None:
    with pytest.raises(BadInput, match="pooled"):
        make_backbone("poled", (32, 32), seed=0)
