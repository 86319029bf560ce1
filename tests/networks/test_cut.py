import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks import cut, make_backbone
from everlearn.networks.backbones import BACKBONES
from everlearn.networks.cut import layers


@pytest.mark.parametrize("name", BACKBONES)
@pytest.mark.parametrize("image_shape", [(64, 64), (32, 32, 3)], ids=["gray", "colour"])
def test_wherever_it_is_cut_both_parts_together_are_the_network(
    name: str, image_shape: tuple[int, ...]
) -> None:
    net = make_backbone(name, image_shape, seed=0).eval()
    n_channels = image_shape[2] if len(image_shape) == 3 else 1
    images = torch.randn(2, n_channels, *image_shape[:2], generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole = net(images)
        for layer in {0, 1, len(layers(net)) // 2, len(layers(net))}:
            below, above = cut(net, layer)
            torch.testing.assert_close(above(below(images)), whole)


@pytest.mark.parametrize("name", BACKBONES)
def test_no_weight_is_lost_or_copied(name: str) -> None:
    net = make_backbone(name, (32, 32), seed=0)
    below, above = cut(net, 1)
    parts = [*below.parameters(), *above.parameters()]
    assert {id(weight) for weight in parts} == {id(weight) for weight in net.parameters()}


def test_the_papers_layers() -> None:
    """conv5_4 of MobileNet at 128 px, and what comes out of conv4_x of ResNet-18 at 224 px."""
    mobile, resnet = (
        make_backbone("mobile", (128, 128, 3), 0),
        make_backbone("resnet18-renorm", (224, 224, 3), 0),
    )
    with torch.no_grad():
        assert cut(mobile, 11)[0].eval()(torch.zeros(1, 3, 128, 128)).shape == (1, 512, 8, 8)
        assert cut(resnet, 4)[0].eval()(torch.zeros(1, 3, 224, 224)).shape == (1, 256, 14, 14)


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="layers 0 to 7"):
        cut(make_backbone("small", (32, 32), 0), 8)
