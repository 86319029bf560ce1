"""Environments of the past, dreamed by a network as it was, so that the network as it is keeps them."""

from copy import deepcopy
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from everlearn.learners.base import State
from everlearn.networks import load_module, module_state, n_bytes
from everlearn.networks.divergences import bernoulli_kl, squared_wasserstein
from everlearn.networks.vae import VAE
from everlearn.rng import Rng


class Dream(NamedTuple):
    """Images that the past could have shown, and all that the snapshot knows of them."""

    latents: Tensor
    environments: Tensor
    logits: Tensor
    pixels: Tensor
    mean: Tensor
    log_variance: Tensor


class Proximity(NamedTuple):
    """How far a network moved away from its snapshot on dreams, and the features it sees in them."""

    encoder: Tensor
    decoder: Tensor
    features: Tensor


class Snapshot:
    """A frozen copy of an autoencoder, with the environments it knew.

    Args:
        net: what is copied.
        n_known: environments, from 0, that it can dream of.
    """

    def __init__(self, net: VAE, n_known: int) -> None:
        self.net = deepcopy(net).requires_grad_(False)
        self.n_known = n_known

    @torch.no_grad()
    def dream(self, n: int, environments: list[int], rng: Rng) -> Dream:
        """Images of random latents in some of the environments, evenly at random."""
        weight = self.net.encoder.head.weight
        n_latents = weight.shape[0] // 2
        latents = torch.from_numpy(rng.normal(n * n_latents)).to(weight).view(n, n_latents)
        which = np.array(environments)[rng.integers(n, len(environments))]
        shown = torch.from_numpy(which).to(weight.device)
        logits = self.net.decoder(latents, shown)
        pixels = logits.sigmoid()
        mean, log_variance, _ = self.net.encoder(pixels)
        return Dream(latents, shown, logits, pixels, mean, log_variance)

    @property
    def nbytes(self) -> int:
        """The bytes of the copy."""
        return n_bytes(self.net)

    def state(self) -> State:
        """Weights and how many environments they know."""
        return {"net": module_state(self.net), "n_known": self.n_known}

    @classmethod
    def loaded(cls, net: VAE, state: State) -> Self:
        """A snapshot from its state; `net` says how it is built."""
        snapshot = cls(net, state["n_known"])
        load_module(snapshot.net, state["net"])
        return snapshot


def proximity(net: VAE, dream: Dream, *, decoder: bool = True) -> Proximity:
    """The mean distance of encoders (2-Wasserstein, squared) and decoders (KL of pixels) over dreams."""
    mean, log_variance, features = net.encoder(dream.pixels)
    apart = squared_wasserstein(mean, log_variance, dream.mean, dream.log_variance).mean()
    if not decoder:
        return Proximity(apart, torch.zeros_like(apart), features)
    logits = net.decoder(dream.latents, dream.environments)
    return Proximity(apart, bernoulli_kl(dream.logits, logits).mean(), features)
