"""Images to latents and back: the convolutional autoencoders of VASE and CCI-VAE."""

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from everlearn.errors import BadInput, check_range, unknown
from everlearn.networks.tensors import MID_GRAY, seeded

FINEST, COARSEST = 0.05, 7.4
"""Bounds of the standard deviation of a latent if nobody says others."""


@dataclass(frozen=True)
class Size:
    """Channels of each halving of the image, and the units of the dense layer above."""

    channels: tuple[int, ...]
    n_features: int = 256


SIZES = {
    "paper": Size((64, 64, 128, 128)),
    "half": Size((32, 32, 64, 64)),
    "small": Size((32, 32, 64)),
    "tiny": Size((16, 16, 32)),
}


class Encoder(nn.Module):
    """A image to a Gaussian over latents, which depends on the image alone, whatever shows it.

    Args:
        image_shape: (H, W) or (H, W, 3), sides divisible by two as often as there are layers.
        size: how large.
        n_latents: numbers that describe a image.
        finest: the smallest standard deviation of a latent.
    """

    def __init__(
        self, image_shape: tuple[int, ...], size: Size, n_latents: int, finest: float = FINEST
    ) -> None:
        super().__init__()
        self.bounds = 2 * math.log(finest), 2 * math.log(COARSEST)
        first, *others = size.channels
        layers: list[nn.Module] = [
            # Halving by folding four pixels into channels does what a 4x4 convolution in steps of two does
            # and, for a image of one channel, goes back much faster.
            nn.PixelUnshuffle(2),
            nn.Conv2d(4 * n_channels(image_shape), first, 3, 1, 1),
            nn.ReLU(inplace=True),
        ]
        for n_in, n_out in pairwise([first, *others]):
            layers += [nn.Conv2d(n_in, n_out, 4, 2, 1), nn.ReLU(inplace=True)]
        n_flat = size.channels[-1] * _area(image_shape, size)
        self.body = nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(n_flat, size.n_features), nn.ReLU(inplace=True)
        )
        self.head = nn.Linear(size.n_features, 2 * n_latents)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(n, C, H, W) -> means and log-variances (n, n_latents), features (n, n_features)."""
        features: Tensor = self.body(pixels)
        mean, log_variance = self.head(features).chunk(2, dim=1)
        return mean, log_variance.clamp(*self.bounds), features


class Decoder(nn.Module):
    """Latents, and the environment they are shown in, to the logits of pixels.

    Args:
        image_shape: (H, W) or (H, W, 3), sides divisible by two as often as there are layers.
        size: how large.
        n_latents: numbers that describe a image.
        n_environments: environments it can tell apart.
    """

    def __init__(self, image_shape: tuple[int, ...], size: Size, n_latents: int, n_environments: int) -> None:
        super().__init__()
        self.n_environments = n_environments
        *others, last = size.channels
        halved = [side >> len(size.channels) for side in image_shape[:2]]
        layers: list[nn.Module] = [
            nn.Linear(n_latents + n_environments, size.n_features),
            nn.ReLU(inplace=True),
            nn.Linear(size.n_features, last * _area(image_shape, size)),
            nn.ReLU(inplace=True),
            nn.Unflatten(1, (last, *halved)),
        ]
        for n_in, n_out in pairwise([last, *reversed(others)]):
            layers += [nn.ConvTranspose2d(n_in, n_out, 4, 2, 1), nn.ReLU(inplace=True)]
        # The reverse of the encoder's folding, for the same reason.
        layers += [
            nn.Conv2d(size.channels[0], 4 * n_channels(image_shape), 3, 1, 1),
            nn.PixelShuffle(2),
        ]
        self.layers = nn.Sequential(*layers)

    def forward(self, latents: Tensor, environments: Tensor) -> Tensor:
        """(n, n_latents), (n,) -> (n, C, H, W)."""
        shown = nn.functional.one_hot(environments, self.n_environments).to(latents)
        logits: Tensor = self.layers(torch.cat([latents, shown], dim=1))
        return logits


class Autoencoder(nn.Module):
    """An encoder and its decoder.

    Args:
        image_shape: (H, W) or (H, W, 3).
        size: "paper", "half", "small" or "tiny".
        n_latents: numbers that describe a image.
        n_environments: environments that the decoder can tell apart.
        finest: the smallest standard deviation of a latent.
        seed: decides the first weights.

    Example:
        >>> net = Autoencoder((32, 32), size="tiny", n_latents=4)
        >>> mean, log_variance, features = net.encoder(torch.zeros(2, 1, 32, 32))
        >>> net.decoder(mean, torch.zeros(2, dtype=torch.long)).shape
        torch.Size([2, 1, 32, 32])
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        *,
        size: str = "small",
        n_latents: int = 16,
        n_environments: int = 7,
        finest: float = FINEST,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if size not in SIZES:
            raise unknown("size", size, SIZES)
        check_range("n_latents", n_latents, 1, 1000)
        check_range("n_environments", n_environments, 1, 1000)
        _check_sides(image_shape, size)
        with seeded(seed):
            self.encoder = Encoder(image_shape, SIZES[size], n_latents, finest)
            self.decoder = Decoder(image_shape, SIZES[size], n_latents, n_environments)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # known to torch alone

    def forward(self, images: Tensor) -> Tensor:
        """Images (n, C, H, W) seen, described by means, and drawn again in the first environment."""
        mean = self.encoder(images)[0]
        logits: Tensor = self.decoder(mean, torch.zeros(len(mean), dtype=torch.long, device=mean.device))
        return logits


def to_pixels(images: Tensor) -> Tensor:
    """What `to_tensor` made, as shares of white from 0 to 1."""
    return images.add(MID_GRAY).clamp_(0, 1)


def n_channels(image_shape: tuple[int, ...]) -> int:
    """1 for gray images, 3 for coloured ones."""
    return 1 if len(image_shape) == 2 else image_shape[2]


def _area(image_shape: tuple[int, ...], size: Size) -> int:
    """Places that are left after all halvings."""
    return (image_shape[0] >> len(size.channels)) * (image_shape[1] >> len(size.channels))


def _check_sides(image_shape: tuple[int, ...], size: str) -> None:
    unit = 2 ** len(SIZES[size].channels)
    if any(side % unit or not side for side in image_shape[:2]):
        raise BadInput(
            f"images are {image_shape[0]} by {image_shape[1]} pixels; for size {size!r} both must be "
            f"multiples of {unit}, such as {max(1, round(image_shape[0] / unit)) * unit}"
        )
