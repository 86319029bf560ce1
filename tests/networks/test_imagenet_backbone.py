"""ImageNet backbones: padding, names, weights, and features known from an outside implementation."""

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks import make_backbone, split_layers, to_tensor
from everlearn.networks.imagenet_backbone import (
    EfficientNetLite0,
    ImageNetBackbone,
    MobileNetV1,
    SamePadConv2d,
)
from everlearn.networks.weights import load_backbone

NAMES = ("efficientnet-lite0", "mobilenet-v1", "mobilenet-v1-0.25")
EXPECTED = {
    "efficientnet-lite0": [0.369245, 0.899513, 5.958099],
    "mobilenet-v1": [0.240643, 0.769744, 6.0],
    "mobilenet-v1-0.25": [0.355737, 0.899927, 6.0],
}
"""Mean, standard deviation and maximum of the features of `pattern`."""


def pattern() -> torch.Tensor:
    y, x, c = np.meshgrid(np.arange(96), np.arange(80), np.arange(3), indexing="ij")
    levels = 127 + 90 * np.sin(x / 7 + c) * np.cos(y / (5 + c))
    return to_tensor(levels.round().astype(np.uint8)[None])


@pytest.fixture(params=NAMES)
def pretrained(request: pytest.FixtureRequest) -> tuple[str, ImageNetBackbone]:
    """A backbone with its ImageNet weights; skips the test if there are none."""
    net = make_backbone(request.param, (96, 80, 3), 0)
    assert isinstance(net, ImageNetBackbone)
    try:
        load_backbone(net, "imagenet")
    except BadInput as error:
        pytest.skip(str(error))
    return request.param, net.eval()


def test_same_padding_adds_the_odd_pixel_at_the_end() -> None:
    conv = SamePadConv2d(1, 1, 3, stride=2, bias=False)
    conv.weight.data.zero_()[0, 0, 0, 0] = 1.0  # the upper left tap: the pixel itself if nothing is before it
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert conv(image)[0, 0].tolist() == [[0.0, 2.0], [8.0, 10.0]]


def test_classifier_weights_are_ignored_and_other_networks_refused(tmp_path) -> None:
    from safetensors.torch import save_file

    from everlearn.networks.resnet import ResNet18

    net = ResNet18((32, 32))
    state = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    save_file(
        {**state, "fc.weight": torch.zeros(9, 512), "fc.bias": torch.zeros(9)}, tmp_path / "a.safetensors"
    )
    load_backbone(ResNet18((32, 32)), str(tmp_path / "a.safetensors"))
    with pytest.raises(BadInput, match="has the weights of another network"):
        load_backbone(MobileNetV1(), str(tmp_path / "a.safetensors"))
    with pytest.raises(BadInput, match="has no ImageNet weights; choose one of efficientnet-lite0"):
        load_backbone(net, "imagenet")


def test_missing_weights_say_where_they_belong(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    with pytest.raises(BadInput, match=r"there are no ImageNet weights at .*put the file there"):
        load_backbone(MobileNetV1(), "imagenet")


def test_layers_are_split_by_name() -> None:
    net = EfficientNetLite0()
    lower, upper = split_layers(net, "block11")
    assert lower.eval()(torch.zeros(1, 3, 64, 64)).shape == (1, 112, 4, 4)
    assert len(lower) + len(upper) == len(net)
    with pytest.raises(BadInput, match="unknown layer 'block99'"):
        split_layers(net, "block99")


def test_features_agree_with_the_outside_implementation(pretrained: tuple[str, ImageNetBackbone]) -> None:
    name, net = pretrained
    with torch.no_grad():
        features = net(pattern())[0]
    found = [features.mean(), features.std(), features.max()]
    assert torch.stack(found).tolist() == pytest.approx(EXPECTED[name], rel=1e-3)


def test_gray_images_are_repeated_as_three_channels(pretrained: tuple[str, ImageNetBackbone]) -> None:
    _, net = pretrained
    gray = pattern()[:, :1]
    with torch.no_grad():
        assert torch.allclose(net(gray), net(gray.expand(-1, 3, -1, -1)))
