"""Inference without torch: activations equal those of the torch modules."""

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks import make_backbone, to_tensor
from everlearn.networks.inference import InferenceNet
from everlearn.networks.weights import save_weights

LAYERS = {
    "efficientnet-lite0": ("block1", "block5", "block11", "top"),
    "mobilenet-v1": ("conv2_1", "conv4_2", "conv6"),
    "mobilenet-v1-0.25": ("conv2_1", "conv5_6", "conv6"),
}


def random_backbone(name: str) -> torch.nn.Module:
    """A backbone in which no normalization is the identity."""
    net = make_backbone(name, (64, 64, 3), 0).eval()
    generator = torch.Generator().manual_seed(0)
    for key, tensor in net.state_dict().items():
        if key.endswith("running_var"):
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif key.endswith(("running_mean", "bias")):
            tensor.copy_(0.3 * torch.randn(tensor.shape, generator=generator))
    return net


@pytest.mark.parametrize("size", [(64, 96), (45, 70)])  # the second needs padding that differs by side
@pytest.mark.parametrize("name", LAYERS)
def test_activations_equal_those_of_torch(name, size, tmp_path):
    net = random_backbone(name)
    save_weights(net, tmp_path / "net.safetensors")
    images = np.random.default_rng(0).integers(0, 256, (2, *size, 3), dtype=np.uint8)
    expected, maps = [], to_tensor(images)
    with torch.inference_mode():
        for layer, module in net.named_children():
            maps = module(maps)
            if layer in LAYERS[name]:
                expected.append(maps.permute(0, 2, 3, 1).numpy())
    found = InferenceNet(name, tmp_path / "net.safetensors").maps(images, LAYERS[name])
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-4)


def test_results_survive_the_next_call(tmp_path):
    save_weights(random_backbone("mobilenet-v1-0.25"), tmp_path / "net.safetensors")
    net = InferenceNet("mobilenet-v1-0.25", tmp_path / "net.safetensors")
    images = np.random.default_rng(0).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    first = net.maps(images[:1], ("conv2_1", "conv6"))
    kept = [each.copy() for each in first]
    net.maps(images[1:], ("conv2_1", "conv6"))
    for ours, before in zip(first, kept, strict=True):
        assert (ours == before).all()


def test_weights_of_another_network_are_refused(tmp_path):
    save_weights(random_backbone("mobilenet-v1"), tmp_path / "net.safetensors")
    with pytest.raises(
        BadInput, match="has the weights of another network; give those of efficientnet-lite0"
    ):
        InferenceNet("efficientnet-lite0", tmp_path / "net.safetensors")
