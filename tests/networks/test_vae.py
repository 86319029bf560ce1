import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks import flops_per_image, to_tensor
from everlearn.networks.vae import SIZES, VAE, to_unit_range


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("image_shape", [(16, 48), (32, 32, 3)])
def test_shapes(size: str, image_shape: tuple[int, ...]) -> None:
    net = VAE(image_shape, size=size, n_latents=5, n_environments=3)
    height, width, *channels = image_shape
    pixels = torch.rand(2, *(channels or [1]), height, width, generator=torch.Generator().manual_seed(0))
    mean, log_variance, features = net.encoder(pixels)
    assert mean.shape == log_variance.shape == (2, 5)
    assert features.shape == (2, 256)
    assert net.decoder(mean, torch.tensor([0, 2])).shape == pixels.shape


def test_decoder_takes_a_one_hot_environment() -> None:
    """The first layer's outputs of two environments differ by the difference of two weight columns."""
    net = VAE((16, 16), size="tiny", n_latents=4, n_environments=3)
    latents = torch.zeros(1, 4)
    assert not torch.equal(net.decoder(latents, torch.tensor([0])), net.decoder(latents, torch.tensor([1])))
    first = net.decoder.layers[0]
    assert first.in_features == 4 + 3
    columns = first.weight[:, 4:]
    outputs = [first(torch.cat([latents, torch.eye(3)[[s]]], 1)) for s in (0, 1)]
    torch.testing.assert_close(outputs[0] - outputs[1], (columns[:, 0] - columns[:, 1])[None])


def test_seed_determines_weights() -> None:
    one, two, other = (VAE((16, 16), size="tiny", seed=seed).encoder.head.weight for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_paper_size_has_the_paper_layers() -> None:
    net = VAE((64, 64), size="paper", n_latents=24)
    channels = [layer.out_channels for layer in net.encoder.backbone if isinstance(layer, torch.nn.Conv2d)]
    assert channels == [64, 64, 128, 128]
    assert net.encoder.head.in_features == 256


def test_to_unit_range() -> None:
    pixels = to_unit_range(to_tensor(np.array([[[0, 51, 255]]], np.uint8)))
    torch.testing.assert_close(pixels.flatten(), torch.tensor([0.0, 0.2, 1.0]))


def test_bad_image_size_is_rejected() -> None:
    with pytest.raises(BadInput, match=r"30 by 30 pixels.*multiples of 8, such as 32"):
        VAE((30, 30), size="small")


def test_flops_of_transposed_convolutions() -> None:
    layer = torch.nn.Sequential(torch.nn.ConvTranspose2d(1, 2, 4, 2, 1))
    # 8 x 8 inputs, each multiplied with 2 x 4 x 4 weights.
    assert flops_per_image(layer, (8, 8)) == 2 * 64 * 32
