"""Divergences and likelihoods of variational autoencoders.

Gaussians are diagonal and given by mean and log-variance, (n, n_latents). Pixels are independent Bernoulli
variables given by their logits.
"""

import torch
from torch import Tensor
from torch.nn import functional


def kl_to_prior(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, variance) || N(0, 1)) of every latent."""
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)


def atypicality(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL of each latent's aggregate posterior over a batch to N(0, 1), (n, n_latents) -> (n_latents,).

    The aggregate posterior, a mixture of Gaussians, is approximated by one Gaussian with its mean and
    variance.
    """
    center = mean.mean(0)
    variance = log_variance.exp().mean(0) + mean.var(0, correction=0)
    return kl_to_prior(center, variance.log())


def squared_wasserstein(
    mean: Tensor,
    log_variance: Tensor,
    other_mean: Tensor,
    other_log_variance: Tensor,
    weights: Tensor | float = 1.0,
) -> Tensor:
    """Squared 2-Wasserstein distance of each pair of Gaussians, a weighted sum over latents, (n,)."""
    std, other_std = (0.5 * log_variance).exp(), (0.5 * other_log_variance).exp()
    distances = (mean - other_mean).square() + (std - other_std).square()
    return (weights * distances).sum(1)


def bernoulli_nll(logits: Tensor, pixels: Tensor) -> Tensor:
    """-log p(pixels), summed over the pixels of each image, (n,); pixels may lie between 0 and 1."""
    return functional.binary_cross_entropy_with_logits(logits, pixels, reduction="none").flatten(1).sum(1)


def bernoulli_entropy(pixels: Tensor) -> Tensor:
    """Lower bound of `bernoulli_nll` for these pixels, (n,): the entropy of gray pixels."""
    entropy: Tensor = torch.special.entr(pixels) + torch.special.entr(1 - pixels)
    return entropy.flatten(1).sum(1)


def bernoulli_kl(old_logits: Tensor, logits: Tensor) -> Tensor:
    """KL(Bernoulli(old_logits) || Bernoulli(logits)), summed over the pixels of each image, (n,)."""
    p = torch.sigmoid(old_logits)
    kl = functional.softplus(logits) - functional.softplus(old_logits) + p * (old_logits - logits)
    return kl.flatten(1).sum(1)
