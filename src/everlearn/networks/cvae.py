"""A conditional variational autoencoder of latent activations."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks.divergences import kl_to_prior
from everlearn.networks.tensors import load_module, module_state, seeded
from everlearn.rng import rng_at


class ConditionalVAE(nn.Module):
    """Features of activations -> latents; latents and class -> activations.

    The features are computed by the upper layers of a classifier, which are not part of it; `shape` is that
    of the activations of one image, which are nonnegative if `rectified`. The capacity for classes grows in
    powers of two. A decoder with a small `width` (hidden units) generates poor activations. `class_scale` is
    the standard deviation of new class embeddings.

    Example:
        >>> net = ConditionalVAE(8, shape=(4, 2, 2))
        >>> net.add_classes(3)
        False
        >>> net.decode(torch.zeros(5, 100), torch.tensor([0, 1, 2, 2, 0])).shape
        torch.Size([5, 4, 2, 2])

    References: Kingma and Welling 2014, arXiv:1312.6114; conditional: Sohn et al. 2015.
    """

    def __init__(
        self,
        n_features: int,
        shape: tuple[int, ...],
        width: int = 256,
        n_latents: int = 100,
        seed: int = 0,
        *,
        class_scale: float = 1.0,
        rectified: bool = True,
    ) -> None:
        super().__init__()
        self.class_scale, self.rectified = class_scale, rectified
        self.shape, self.n_latents, self.width, self.seed = shape, n_latents, width, seed
        with seeded(seed):
            self.encoder = nn.Sequential(
                nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, 2 * n_latents)
            )
            self.latent_layer = nn.Linear(n_latents, width)
            self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(width, math.prod(shape)))
        self.class_embeddings = nn.Parameter(self._new_embeddings(0, 16))

    def add_classes(self, n_classes: int) -> bool:
        """Ensure a capacity of `n_classes`; True if a larger matrix has replaced the embeddings."""
        if n_classes <= len(self.class_embeddings):
            return False
        self._resize(1 << (n_classes - 1).bit_length())
        return True

    def _resize(self, capacity: int) -> None:
        known = self.class_embeddings.detach()[:capacity]
        self.class_embeddings = nn.Parameter(torch.cat([known, self._new_embeddings(len(known), capacity)]))

    def state(self) -> dict[str, Any]:
        """All weights."""
        return module_state(self)

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned, with its number of classes."""
        self._resize(len(state["class_embeddings"]))
        load_module(self, state)

    def encode(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(n, n_features) -> mean and log variance of the latents, (n, n_latents)."""
        mean, log_variance = self.encoder(features).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, latents: Tensor, targets: Tensor) -> Tensor:
        """(n, n_latents), class indices (n,) -> activations (n, ...) before `activate`.

        The ReLU is separate, since it would remove gradients.
        """
        # The embedding of a class is the row of weights that its one-hot encoding would select.
        activations: Tensor = self.decoder(self.latent_layer(latents) + self.class_embeddings[targets])
        return activations.view(-1, *self.shape)

    @torch.no_grad()
    def sample(self, latents: Tensor, targets: Tensor) -> Tensor:
        """Generated activations."""
        return self.activate(self.decode(latents, targets))

    def activate(self, activations: Tensor) -> Tensor:
        """The activations after the ReLU of the replayed layer, if it has one."""
        return activations.relu() if self.rectified else activations

    def _new_embeddings(self, first: int, last: int) -> Tensor:
        """Random embeddings of new classes.

        If they were equal at first, the few steps of a task would encode the class in the latents, and the
        decoder would ignore the embeddings.
        """
        numbers = rng_at(self.seed, "rows of classes", first).normal((last - first) * self.width)
        return torch.from_numpy(self.class_scale * numbers).to(self.latent_layer.weight).view(-1, self.width)


def cvae_loss(
    activations: Tensor, reconstruction: Tensor, posterior: tuple[Tensor, Tensor], *, beta: float
) -> Tensor:
    """Squared error + beta * KL divergence of the latents, given by mean and log variance, from N(0, 1).

    Both are means over activations and latents, so that beta does not depend on sizes. The paper uses sums;
    those of a thousand activations would dominate the loss of the classifier, and with the paper's weights
    generated activations have no class information.
    """
    return functional.mse_loss(reconstruction, activations) + beta * kl_to_prior(*posterior).mean()
