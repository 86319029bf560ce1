import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks import flops_per_image, to_tensor
from everlearn.networks.autoencoder import SIZES, Autoencoder, to_pixels


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("image_shape", [(32, 32), (16, 48), (32, 32, 3)])
def test_images_come_back_in_their_shape(size: str, image_shape: tuple[int, ...]) -> None:
    net = Autoencoder(image_shape, size=size, n_latents=5, n_environments=3)
    height, width, *colours = image_shape
    pixels = torch.rand(2, *(colours or [1]), height, width, generator=torch.Generator().manual_seed(0))
    mean, log_variance, features = net.encoder(pixels)
    assert mean.shape == log_variance.shape == (2, 5)
    assert features.shape == (2, 256)
    assert net.decoder(mean, torch.tensor([0, 2])).shape == pixels.shape


def test_only_the_decoder_is_told_of_environments() -> None:
    net = Autoencoder((16, 16), size="tiny", n_latents=4, n_environments=3)
    latents = torch.zeros(1, 4)
    one, two = (net.decoder(latents, torch.tensor([s])) for s in (0, 1))
    assert not torch.equal(one, two)
    first = net.decoder.layers[0]
    assert first.in_features == 4 + 3
    # One-hot: the difference between two environments is that of two columns of the first layer.
    columns = first.weight[:, 4:]
    seen = [first(torch.cat([latents, torch.eye(3)[[s]]], 1)) for s in (0, 1)]
    torch.testing.assert_close(seen[0] - seen[1], (columns[:, 0] - columns[:, 1])[None])


def test_the_seed_decides_the_weights() -> None:
    one, two, other = (
        Autoencoder((16, 16), size="tiny", seed=seed).encoder.head.weight for seed in (1, 1, 2)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_the_paper_s_network_has_the_paper_s_layers() -> None:
    net = Autoencoder((64, 64), size="paper", n_latents=24)
    channels = [layer.out_channels for layer in net.encoder.body if isinstance(layer, torch.nn.Conv2d)]
    assert channels == [64, 64, 128, 128]
    assert net.encoder.head.in_features == 256


def test_pixels_are_shares_of_white() -> None:
    import numpy as np

    pixels = to_pixels(to_tensor(np.array([[[0, 51, 255]]], np.uint8)))
    torch.testing.assert_close(pixels.flatten(), torch.tensor([0.0, 0.2, 1.0]))


def test_sides_that_cannot_be_halved_are_refused() -> None:
    with pytest.raises(BadInput, match=r"30 by 30 pixels.*multiples of 8, such as 32"):
        Autoencoder((30, 30), size="small")
    with pytest.raises(BadInput, match="did you mean 'tiny'"):
        Autoencoder((32, 32), size="tin")


def test_the_way_through_transposed_convolutions_is_counted() -> None:
    layer = torch.nn.Sequential(torch.nn.ConvTranspose2d(1, 2, 4, 2, 1))
    # 8 x 8 inputs, each multiplied with 2 x 4 x 4 weights.
    assert flops_per_image(layer, (8, 8)) == 2 * 64 * 32
