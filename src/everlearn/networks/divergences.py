"""How far apart distributions are: the few formulas that variational learners are made of.

Gaussians are diagonal and given by mean and logarithm of the variance, (n, n_latents); pixels are independent
yes-or-no questions, given by the logit of a yes.
"""

import torch
from torch import Tensor
from torch.nn import functional


def kl_to_prior(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, variance) || N(0, 1)) of every latent, in nats: what it costs to say it.

    Example:
        >>> kl_to_prior(torch.tensor([0.0, 2.0]), torch.zeros(2))
        tensor([0., 2.])
    """
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)


def atypicality(mean: Tensor, log_variance: Tensor) -> Tensor:
    """How unlike N(0, 1) each latent is over a whole batch, (n, n_latents) -> (n_latents,).

    The Gaussians of a batch are a mixture; one Gaussian with the mixture's mean and variance stands for it.

    Example:
        >>> varied, still = torch.tensor([[1.0], [-1.0]]), torch.tensor([[0.0], [0.0]])
        >>> small = torch.full((2, 2), 0.02).log()
        >>> atypicality(torch.cat([varied, still], 1), small).round(decimals=2)
        tensor([0.0000, 1.4700])
    """
    middle = mean.mean(0)
    variance = log_variance.exp().mean(0) + mean.var(0, correction=0)
    return kl_to_prior(middle, variance.log())


def wasserstein(mean: Tensor, log_variance: Tensor, other: Tensor, other_log_variance: Tensor) -> Tensor:
    """The squared 2-Wasserstein distance of each pair of Gaussians, summed over latents, (n,).

    Example:
        >>> wasserstein(torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
        tensor([2.])
    """
    spread, other_spread = (0.5 * log_variance).exp(), (0.5 * other_log_variance).exp()
    return ((mean - other).square() + (spread - other_spread).square()).sum(1)


def bernoulli_nll(logits: Tensor, pixels: Tensor) -> Tensor:
    """-log p(pixels), summed over the pixels of each image, (n,); pixels between 0 and 1 count by share.

    Example:
        >>> bernoulli_nll(torch.zeros(1, 1, 2, 2), torch.ones(1, 1, 2, 2)) / torch.tensor(2.0).log()
        tensor([4.])
    """
    return functional.binary_cross_entropy_with_logits(logits, pixels, reduction="none").flatten(1).sum(1)


def bernoulli_entropy(pixels: Tensor) -> Tensor:
    """The least that `bernoulli_nll` can be, (n,): gray is uncertain however well it is drawn.

    Example:
        >>> bernoulli_entropy(torch.tensor([[0.0, 1.0], [0.5, 1.0]])) / torch.tensor(2.0).log()
        tensor([0., 1.])
    """
    each: Tensor = torch.special.entr(pixels) + torch.special.entr(1 - pixels)
    return each.flatten(1).sum(1)


def bernoulli_kl(old: Tensor, logits: Tensor) -> Tensor:
    """KL(pixels as `old` draws them || as `logits` does), summed over the pixels of each image, (n,).

    Example:
        >>> bernoulli_kl(torch.ones(1, 4), torch.ones(1, 4))
        tensor([0.])
    """
    chance = torch.sigmoid(old)
    each = functional.softplus(logits) - functional.softplus(old) + chance * (old - logits)
    return each.flatten(1).sum(1)
