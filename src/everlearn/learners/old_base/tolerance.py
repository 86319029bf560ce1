"""How much noise on each latent a decoder tolerates: little where it relies on the latent."""

import torch
from torch import Tensor

from everlearn.networks.divergences import bernoulli_nll
from everlearn.networks.vae import Decoder
from everlearn.rng import FloatArray, Rng

N_DREAMS, N_STEPS, RATE = 64, 60, 0.1
"""Images that noise is tried on, steps of the search and their size in the logarithm of the noise."""


def tolerated_noise(decoder: Decoder, environment: int, n_latents: int, rng: Rng) -> FloatArray:
    """The standard deviation of the largest noise on each latent that leaves images as they are.

    With x the decoder's own images of random latents z, it minimises over diagonal S, by gradient,
    E[-log p(x | z + noise, environment)] - log |S| with noise ~ N(0, S). Where the paper would take images
    of the environment, these are dreams of it, since a learner keeps no images.
    """
    weight = next(decoder.parameters())

    def normal() -> Tensor:
        numbers = torch.from_numpy(rng.normal(N_DREAMS * n_latents))
        return numbers.to(weight).view(N_DREAMS, n_latents)

    latents = normal()
    shown = torch.full((N_DREAMS,), environment, device=weight.device)
    with torch.no_grad():
        pixels = decoder(latents, shown).sigmoid()
    logs = torch.zeros(n_latents, dtype=weight.dtype, device=weight.device, requires_grad=True)
    optimiser = torch.optim.Adam([logs], lr=RATE)
    for _ in range(N_STEPS):
        error = bernoulli_nll(decoder(latents + logs.exp() * normal(), shown), pixels).mean()
        # Of the logs alone: the decoder's own weights are to have no slope afterwards.
        (logs.grad,) = torch.autograd.grad(error - 2 * logs.sum(), [logs])
        optimiser.step()
    sizes: FloatArray = logs.detach().exp().cpu().double().numpy()
    return sizes
