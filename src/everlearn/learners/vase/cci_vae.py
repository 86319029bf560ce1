"""CCI-VAE, and what it shares with VASE: networks, capacity loss, posterior and decoder."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from everlearn.learners.base import Learner, Losses, setting
from everlearn.learners.stateful import Names
from everlearn.networks import flops_per_image, map_batches, minimize, to_tensor
from everlearn.networks.devices import loss_value, to_like
from everlearn.networks.divergences import bernoulli_nll, kl_to_prior
from everlearn.networks.vae import VAE, to_unit_range
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images

MIN_BATCH = 16
"""Images from which statistics of a batch (aggregate posterior, environment) are estimated."""
MIN_STD = 1e-3
"""Smallest standard deviation of a posterior. It only keeps logarithms finite: with 0.05, the KL of a latent
was at most 3 or so, and the number of used latents C / 3."""


class Posterior(NamedTuple):
    """The Gaussian posterior q(z | x) of images, and the encoder's features."""

    mean: Tensor
    log_variance: Tensor
    features: Tensor

    def masked(self, mask: Tensor) -> "Posterior":
        """The posterior with masked latents (0 in the mask) set to N(0, 1); they receive no gradient."""
        return Posterior(self.mean * mask, self.log_variance * mask, self.features)


class Reconstruction(NamedTuple):
    """Losses of a reconstructed batch, averaged over images.

    Attributes:
        nll: -log p(x | z).
        kl: KL(q(z | x) || N(0, I)) of each latent.
    """

    nll: Tensor
    kl: Tensor


class VAELearner(Learner):
    """Variational autoencoder with a capacity loss; the common base of CCI-VAE and VASE.

    With q(z | x) the posterior of an image, the loss is

        E_q[-log p(x | z)] + gamma * (KL(q(z | x) || N(0, I)) - C)^2

    where the KL is averaged over the batch before it is squared. The capacity C grows by capacity_step per
    step. There are no labels: `predict` returns -1, and probes read the latents.
    """

    size: Literal["paper", "half", "small", "tiny"] = setting("size of the networks", default="small")
    n_latents: int = setting("dimensions of z", default=24, ge=1, le=1000)
    learning_rate: float = setting("learning rate of Adam (not published)", default=1e-3, gt=0, lt=1e6)
    gamma: float = setting(
        "weight of the capacity penalty; others report 100 for images of 64 px, and images of 32 px have a "
        "quarter of the pixels and of the reconstruction error",
        default=25.0, ge=0, le=1e6,
    )  # fmt: skip
    capacity_step: float = setting(
        "increase of C per step (not published); if C grows faster than factors are learned, constant shifts "
        "of the means fill it",
        default=0.0017, ge=0, le=1e6,
    )  # fmt: skip
    max_capacity: float = setting("upper limit of C (not published)", default=12.0, ge=0, le=1e4)
    entangled: bool = setting("use beta * KL instead of the capacity penalty", default=False)
    beta: float = setting(
        "weight of the KL if entangled; 1 is a plain VAE, and 0.25 its equivalent at 32 px instead of 64 px",
        default=1.0, ge=0, le=1e6,
    )  # fmt: skip

    parts: ClassVar[Names] = ("net", "optim")
    counters: ClassVar[Names] = ("n_steps",)
    supervision = "images"
    is_classifier = False
    tiny_settings: ClassVar = {"size": "tiny"}
    max_environments = 1

    def setup(self) -> None:
        self.net = VAE(
            self.image_shape, size=self.size, n_latents=self.n_latents, min_std=MIN_STD,
            n_environments=self.max_environments, seed=self.seed,
        )  # fmt: skip
        self.trained: list[nn.Module] = [self.net]
        self.optim = self.make_optimizer()
        self.n_steps = 0
        self.forward_flops = flops_per_image(self.net, self.image_shape)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Adam with one parameter group per trained module, the VAE first."""
        groups = [{"params": list(module.parameters())} for module in self.trained]
        return torch.optim.Adam(groups, lr=self.learning_rate, fused=True)

    def to_pixels(self, images: Images) -> Tensor:
        """Convert uint8 images (n, H, W[, 3]) to pixels (n, C, H, W) in [0, 1]."""
        device = self.net.encoder.head.weight.device
        return to_unit_range(to_tensor(images, device)).contiguous(memory_format=torch.channels_last)

    def reconstruct(self, pixels: Tensor, posterior: Posterior, environment: int = 0) -> Reconstruction:
        """Sample z from the posterior, decode it in an environment, and compute the losses."""
        noise = rng_at(self.seed, "variational latents", self.n_steps).normal(posterior.mean.numel())
        epsilon = to_like(noise, posterior.mean).view_as(posterior.mean)
        z = posterior.mean + (0.5 * posterior.log_variance).exp() * epsilon
        environments = torch.full((len(pixels),), environment, device=pixels.device)
        nll = bernoulli_nll(self.net.decoder(z, environments), pixels).mean()
        return Reconstruction(nll, kl_to_prior(posterior.mean, posterior.log_variance).mean(0))

    def capacity_loss(self, reconstruction: Reconstruction, capacity: float) -> Tensor:
        """Equation 3: gamma * (KL - C)^2; or beta * KL if entangled."""
        kl = reconstruction.kl.sum()
        return self.beta * kl if self.entangled else self.gamma * (kl - capacity).square()

    def next_capacity(self, capacity: float) -> float:
        """C after a step."""
        return min(capacity + self.capacity_step, self.max_capacity)

    def optimizer_step(self, loss: Tensor, n_images: int) -> None:
        """One step of Adam."""
        minimize(loss, self.optim)
        self.n_steps += 1
        self.count_flops(n_images, self.forward_flops)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.full(len(images), -1, np.int64)

    def encode(self, images: Images) -> FloatArray:
        """Posterior means, (n, n_latents)."""
        return self.posterior(images)[0]

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        """Posterior means and standard deviations, (n, n_latents) each."""
        if not len(images):  # PixelUnshuffle fails on empty batches
            return np.zeros((0, self.n_latents)), np.zeros((0, self.n_latents))

        def encode(some: Images) -> Tensor:
            mean, log_variance, _ = self.net.encoder(self.to_pixels(some))
            return torch.cat([mean, (0.5 * log_variance).exp()], dim=1)

        both = map_batches(encode, images).double().numpy()
        return both[:, : self.n_latents], both[:, self.n_latents :]

    @torch.no_grad()
    def decode(self, latents: FloatArray, environment: int = 0) -> FloatArray:
        """Images (n, H, W[, 3]) of latents in an environment, in [0, 1]."""
        z = torch.from_numpy(np.asarray(latents, np.float32)).to(self.net.encoder.head.weight.device)
        environments = torch.full((len(z),), environment, device=z.device)
        pixels = self.net.decoder(z, environments).sigmoid().permute(0, 2, 3, 1).cpu().double().numpy()
        return np.asarray(pixels if pixels.shape[3] > 1 else pixels[..., 0])


class CCIVAE(VAELearner):
    """CCI-VAE: VAE with controlled capacity increase.

    The baseline of VASE: the same networks and the same loss, without environments, latent masks or
    generative replay. C starts at 0 and grows over the whole stream.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = CCIVAE.tiny()
        >>> sorted(learner.learn(sprites(image_size=16, factor_values=2).task(0).train[:8]))
        ['capacity', 'kl', 'loss', 'reconstruction']

    Reference: Burgess et al. 2018, "Understanding disentangling in beta-VAE", arXiv:1804.03599; the
    baseline of Achille et al. 2018, arXiv:1808.06508.
    """

    counters: ClassVar[Names] = ("capacity",)
    capacity = 0.0

    def learn(self, batch: Batch) -> Losses:
        pixels = self.to_pixels(batch.images)
        reconstruction = self.reconstruct(pixels, Posterior(*self.net.encoder(pixels)))
        loss = reconstruction.nll + self.capacity_loss(reconstruction, self.capacity)
        self.optimizer_step(loss, len(batch))
        self.capacity = self.next_capacity(self.capacity)
        losses = {"loss": loss, "reconstruction": reconstruction.nll, "kl": reconstruction.kl.sum()}
        return {name: loss_value(x) for name, x in losses.items()} | {"capacity": self.capacity}
