"""Generative replay from a snapshot, and exploration by shifting images."""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from everlearn.learners.distillation import FrozenCopy
from everlearn.learners.stateful import Names
from everlearn.networks import seeded
from everlearn.networks.devices import to_like
from everlearn.networks.divergences import bernoulli_kl, squared_wasserstein
from everlearn.networks.pose import affine_sample
from everlearn.networks.vae import VAE, Encoder
from everlearn.rng import Rng

POLICY_UNITS = 64


class GeneratedSamples(NamedTuple):
    """Images that a snapshot generates, with its logits and its posterior of these images."""

    latents: Tensor
    environments: Tensor
    logits: Tensor
    pixels: Tensor
    mean: Tensor
    log_variance: Tensor


class Proximity(NamedTuple):
    """Distances of encoder and decoder to the snapshot on generated samples, and the encoder's features."""

    encoder: Tensor
    decoder: Tensor
    features: Tensor


class Snapshot(FrozenCopy[VAE]):
    """A frozen copy of a VAE, and how many environments it knew."""

    counters: ClassVar[Names] = ("n_environments",)
    n_environments = 0

    def take(self, n_environments: int) -> None:
        """Copy the VAE as it is now."""
        self.update()
        self.n_environments = n_environments

    @torch.no_grad()
    def sample(
        self, n: int, environments: list[int], rng: Rng, *, sample_pixels: bool = False
    ) -> GeneratedSamples:
        """Decode z ~ N(0, I) in environments drawn uniformly from a list.

        With `sample_pixels`, pixels are drawn and are 0 or 1; otherwise they are the probabilities.
        """
        if self.net is None:
            raise ValueError("there is no snapshot yet")
        weight = self.net.encoder.head.weight
        n_latents = weight.shape[0] // 2
        latents = torch.from_numpy(rng.normal(n * n_latents)).to(weight).view(n, n_latents)
        drawn = torch.tensor(environments, device=weight.device)[rng.integers(n, len(environments))]
        logits = self.net.decoder(latents, drawn)
        pixels = logits.sigmoid()
        if sample_pixels:
            uniform = to_like(rng.uniform(pixels.numel()), pixels).view_as(pixels)
            pixels = (uniform < pixels).to(pixels)
        return GeneratedSamples(latents, drawn, logits, pixels, *self.net.encoder(pixels)[:2])

    def proximity(
        self, samples: GeneratedSamples, *, decoder: bool = True, weights: Tensor | float = 1.0
    ) -> Proximity:
        """Mean squared 2-Wasserstein distance of posteriors, and KL of decoded pixels.

        The weights are those of latents in the first distance, (n, n_latents).
        """
        mean, log_variance, features = self.live.encoder(samples.pixels)
        old = samples.mean, samples.log_variance
        distance = squared_wasserstein(mean, log_variance, *old, weights).mean()
        if not decoder:
            return Proximity(distance, torch.zeros_like(distance), features)
        logits = self.live.decoder(samples.latents, samples.environments)
        return Proximity(distance, bernoulli_kl(samples.logits, logits).mean(), features)


class ShiftPolicy(nn.Module):
    """Chooses a shift, up to `max_shift` half image widths, that moves an image's latents to a target."""

    def __init__(self, n_latents: int, *, max_shift: float, seed: int) -> None:
        super().__init__()
        self.max_shift = max_shift
        with seeded(seed):
            self.layers = nn.Sequential(
                nn.Linear(2 * n_latents, POLICY_UNITS),
                nn.ReLU(inplace=True),
                nn.Linear(POLICY_UNITS, POLICY_UNITS),
                nn.ReLU(inplace=True),
                nn.Linear(POLICY_UNITS, 2),
                nn.Tanh(),
            )

    def forward(self, current: Tensor, target: Tensor) -> Tensor:
        """(n, n_latents), (n, n_latents) -> (n, 2), to the right and down."""
        return self.max_shift * self.layers(torch.cat([current, target], dim=1))

    def explore(self, encoder: Encoder, pixels: Tensor, free: Tensor, rng: Rng) -> tuple[Tensor, Tensor]:
        """Shift images so that free latents take imagined values z ~ N(0, 1); with the policy loss.

        The encoder is frozen, so that only the policy is trained.
        """
        with torch.no_grad():
            current = encoder(pixels)[0]
        values = torch.from_numpy(rng.normal(current.numel())).to(current).view_as(current)
        target = torch.where(free, values, current)
        shifted = shift(pixels, self(current, target))
        loss = (encoder(shifted)[0] - target)[:, free].square().mean()
        return shifted.detach(), loss


def random_shift(pixels: Tensor, max_shift: float, rng: Rng) -> Tensor:
    """Images shifted uniformly at random: the control for `ShiftPolicy.explore`."""
    shifts = torch.from_numpy(rng.uniform(2 * len(pixels), -max_shift, max_shift)).to(pixels)
    return shift(pixels, shifts.view(-1, 2))


def shift(pixels: Tensor, shifts: Tensor) -> Tensor:
    """Images (n, C, H, W) shifted right and down by (n, 2) half image widths, with border padding.

    Example:
        >>> shift(torch.tensor([[[[0.0, 1.0, 0.0, 0.0]]]]), torch.tensor([[0.5, 0.0]])).flatten()
        tensor([0., 0., 1., 0.])
    """
    identity = torch.eye(2).to(shifts).expand(len(shifts), 2, 2)
    return affine_sample(pixels, torch.cat([identity, -shifts[:, :, None]], dim=2))
