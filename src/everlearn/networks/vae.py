"""The convolutional variational autoencoder of VASE and CCI-VAE."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from everlearn.errors import BadInput
from everlearn.networks.tensors import MID_GRAY, n_channels, seeded

MIN_STD, MAX_STD = 0.05, 7.4
"""Default bounds of the posterior's standard deviation."""
SIZES = {
    "paper": (64, 64, 128, 128),
    "half": (32, 32, 64, 64),
    "small": (32, 32, 64),
    "tiny": (16, 16, 32),
}
"""Channels of each stride-2 layer."""
N_FEATURES = 256
"""Units of the dense layer."""


class Encoder(nn.Module):
    """Images to Gaussian posteriors q(z | x), which do not depend on the environment.

    Standard deviations are at least `min_std`. H and W must be divisible by 2 once per stride-2 layer.
    """

    def __init__(
        self, image_shape: tuple[int, ...], channels: tuple[int, ...], n_latents: int, min_std: float
    ) -> None:
        super().__init__()
        self.bounds = 2 * math.log(min_std), 2 * math.log(MAX_STD)
        layers: list[nn.Module] = [
            # Space-to-depth and a 3x3 convolution replace a 4x4 convolution with stride 2: for one input
            # channel, the backward pass is much faster.
            nn.PixelUnshuffle(2),
            nn.Conv2d(4 * n_channels(image_shape), channels[0], 3, 1, 1),
            nn.ReLU(inplace=True),
        ]
        for n_in, n_out in pairwise(channels):
            layers += [nn.Conv2d(n_in, n_out, 4, 2, 1), nn.ReLU(inplace=True)]
        n_flat = math.prod(_final_shape(image_shape, channels))
        self.backbone = nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(n_flat, N_FEATURES), nn.ReLU(inplace=True)
        )
        self.head = nn.Linear(N_FEATURES, 2 * n_latents)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(n, C, H, W) -> means and log-variances (n, n_latents), features (n, n_features)."""
        features: Tensor = self.backbone(pixels)
        mean, log_variance = self.head(features).chunk(2, dim=1)
        return mean, log_variance.clamp(*self.bounds), features


class Decoder(nn.Module):
    """Latents z and environment s, as a one-hot code, to pixel logits of p(x | z, s)."""

    def __init__(
        self, image_shape: tuple[int, ...], channels: tuple[int, ...], n_latents: int, n_environments: int
    ) -> None:
        super().__init__()
        self.n_environments = n_environments
        final_shape = _final_shape(image_shape, channels)
        layers: list[nn.Module] = [
            nn.Linear(n_latents + n_environments, N_FEATURES),
            nn.ReLU(inplace=True),
            nn.Linear(N_FEATURES, math.prod(final_shape)),
            nn.ReLU(inplace=True),
            nn.Unflatten(1, final_shape),
        ]
        for n_in, n_out in pairwise(reversed(channels)):
            layers += [nn.ConvTranspose2d(n_in, n_out, 4, 2, 1), nn.ReLU(inplace=True)]
        # Mirrors the encoder's space-to-depth layer.
        layers += [nn.Conv2d(channels[0], 4 * n_channels(image_shape), 3, 1, 1), nn.PixelShuffle(2)]
        self.layers = nn.Sequential(*layers)

    def forward(self, latents: Tensor, environments: Tensor) -> Tensor:
        """(n, n_latents), (n,) -> (n, C, H, W)."""
        one_hot = nn.functional.one_hot(environments, self.n_environments).to(latents)
        return self.layers(torch.cat([latents, one_hot], dim=1))


class VAE(nn.Module):
    """An encoder and a decoder.

    Args:
        image_shape: (H, W) or (H, W, 3).
        size: "paper", "half", "small" or "tiny".
        n_latents: dimensions of z.
        n_environments: environments that the decoder is conditioned on.
        min_std: lower bound of the posterior's standard deviation.
        seed: seed of the initial weights.

    Example:
        >>> net = VAE((32, 32), size="tiny", n_latents=4)
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
        min_std: float = MIN_STD,
        seed: int = 0,
    ) -> None:
        super().__init__()
        unit = 2 ** len(SIZES[size])
        if any(side % unit or not side for side in image_shape[:2]):
            raise BadInput(
                f"images are {image_shape[0]} by {image_shape[1]} pixels; size {size!r} needs both to be "
                f"multiples of {unit}, such as {max(1, round(image_shape[0] / unit)) * unit}"
            )
        with seeded(seed):
            self.encoder = Encoder(image_shape, SIZES[size], n_latents, min_std)
            self.decoder = Decoder(image_shape, SIZES[size], n_latents, n_environments)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing in the stubs

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixel logits (n, C, H, W) of the posterior means, decoded in environment 0."""
        mean = self.encoder(pixels)[0]
        return self.decoder(mean, torch.zeros(len(mean), dtype=torch.long, device=mean.device))


def to_unit_range(tensors: Tensor) -> Tensor:
    """Convert tensors of `to_tensor` to pixels in [0, 1]."""
    return tensors.add(MID_GRAY).clamp_(0, 1)


def _final_shape(image_shape: tuple[int, ...], channels: tuple[int, ...]) -> tuple[int, int, int]:
    """The shape (C, H, W) after the last stride-2 layer."""
    return channels[-1], image_shape[0] >> len(channels), image_shape[1] >> len(channels)
