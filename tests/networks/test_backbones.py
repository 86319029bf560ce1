import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks.backbones import BACKBONES, make_backbone, split_layers
from everlearn.networks.tensors import n_channels


@pytest.mark.parametrize("name", BACKBONES.names())
def test_seed_determines_the_weights(name: str) -> None:
    first, same, other = (make_backbone(name, (32, 32), seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[key], same[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def features_at_two_positions(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the same square, eight pixels apart, which is the stride of all layers together."""
    net = make_backbone(name, (63, 63), seed=0).eval()
    here, there = torch.zeros(2, 1, 1, 63, 63).unbind()
    here[..., 24:34, 24:34] = 1.0
    there[..., 32:42, 32:42] = 1.0
    return net(here), net(there)


def test_features_of_the_pooled_net_do_not_depend_on_position() -> None:
    torch.testing.assert_close(*features_at_two_positions("pooled"))


def test_features_of_the_small_net_depend_on_position() -> None:
    here, there = features_at_two_positions("small")
    assert not torch.allclose(here, there, rtol=0.01)


def test_unknown_backbone_is_refused() -> None:
    with pytest.raises(BadInput, match="pooled"):
        make_backbone("poled", (32, 32), seed=0)


@pytest.mark.parametrize("name", BACKBONES.names())
@pytest.mark.parametrize("image_shape", [(64, 64), (28, 28, 3)], ids=["gray", "color"])
def test_split_layers_in_sequence_are_the_network(name: str, image_shape: tuple[int, ...]) -> None:
    net = make_backbone(name, image_shape, seed=0).eval()
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(2, n_channels(image_shape), *image_shape[:2], generator=generator)
    with torch.no_grad():
        features = net(images)
        assert features.shape == (2, net.n_features)
        for layer in {0, 1, len(net.layers()) // 2, len(net.layers())}:
            lower, upper = split_layers(net, layer)
            torch.testing.assert_close(upper(lower(images)), features)
    parts = {id(weight) for part in (lower, upper) for weight in part.parameters()}
    assert parts == {id(weight) for weight in net.parameters()}


def test_replay_layers_of_the_gnr_paper() -> None:
    """conv5_4 of MobileNet at 128 px, and the output of conv4_x of ResNet-18 at 224 px."""
    mobile, resnet = (
        make_backbone("mobile", (128, 128, 3), 0),
        make_backbone("resnet18-renorm", (224, 224, 3), 0),
    )
    with torch.no_grad():
        assert split_layers(mobile, 11)[0].eval()(torch.zeros(1, 3, 128, 128)).shape == (1, 512, 8, 8)
        assert split_layers(resnet, 4)[0].eval()(torch.zeros(1, 3, 224, 224)).shape == (1, 256, 14, 14)


def test_missing_layer_is_refused() -> None:
    with pytest.raises(BadInput, match="layers 0 to 7"):
        split_layers(make_backbone("small", (32, 32), 0), 8)
