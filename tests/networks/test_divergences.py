import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Bernoulli, Normal, kl_divergence

from everlearn.networks.divergences import (
    atypicality,
    bernoulli_entropy,
    bernoulli_kl,
    bernoulli_nll,
    kl_to_prior,
    squared_wasserstein,
)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_kl_to_prior_by_hand() -> None:
    mean, variance = torch.tensor([0.0, 3.0, 0.0]), torch.tensor([1.0, 1.0, 0.1])
    # .5 (m^2 + v - 1 - ln v): 0; 4.5; .5 (.1 - 1 + 2.302585)
    torch.testing.assert_close(kl_to_prior(mean, variance.log()), torch.tensor([0.0, 4.5, 0.7012925]))


@given(st.floats(-3, 3), st.floats(-4, 2))
def test_kl_to_prior_equals_torch(mean: float, log_variance: float) -> None:
    ours = kl_to_prior(torch.tensor(mean), torch.tensor(log_variance))
    theirs = kl_divergence(Normal(torch.tensor(mean), torch.tensor(log_variance / 2).exp()), Normal(0.0, 1.0))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_atypicality_by_hand() -> None:
    """Means -1 and 3 of variance 1/2: mean 1, variance 1/2 + 4."""
    found = atypicality(torch.tensor([[-1.0], [3.0]]), torch.full((2, 1), 0.5).log())
    assert found.item() == pytest.approx(0.5 * (1 + 4.5 - 1 - np.log(4.5)))


def test_atypicality_equals_a_gaussian_fitted_to_samples() -> None:
    mean, log_variance = 0.3 + 0.4 * normal(50, 3), -2 + 0.3 * normal(50, 3, seed=1)
    noise = normal(4000, 50, 3, seed=2)
    samples = (mean + (0.5 * log_variance).exp() * noise).reshape(-1, 3)
    m, v = samples.mean(0), samples.var(0)
    by_sampling = 0.5 * (m.square() + v - 1 - v.log())
    torch.testing.assert_close(atypicality(mean, log_variance), by_sampling, rtol=0.02, atol=0.002)


def test_unused_and_well_used_latents_are_typical() -> None:
    unused = atypicality(torch.zeros(64, 1), torch.zeros(64, 1))
    used = atypicality(normal(4096, 1), torch.full((4096, 1), -6.0))
    assert unused.item() == 0
    assert used.item() < 0.01


@pytest.mark.parametrize(("variance", "atypical"), [(0.5, 0.10), (0.3, 0.25), (0.1, 0.70), (0.02, 1.47)])
def test_constant_latents_are_atypical(variance: float, atypical: float) -> None:
    found = atypicality(torch.zeros(8, 1), torch.full((8, 1), variance).log())
    assert found.item() == pytest.approx(atypical, abs=0.01)


def test_wasserstein_by_hand() -> None:
    """Means 1 and 4 apart, deviations 1 and 3 against 2 and 3: 1 + 16 + 1 + 0."""
    gaussians = (
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[1.0, 9.0]]).log(),
        torch.tensor([[2.0, -2.0]]),
        torch.tensor([[4.0, 9.0]]).log(),
    )
    torch.testing.assert_close(squared_wasserstein(*gaussians), torch.tensor([18.0]))
    weighted = squared_wasserstein(*gaussians, torch.tensor([[10.0, 0.5]]))
    torch.testing.assert_close(weighted, torch.tensor([28.0]))


def test_wasserstein_equals_sorted_samples() -> None:
    """On a line the best transport keeps the order, so quantiles give the distance."""
    shares = (torch.arange(20_000, dtype=torch.double) + 0.5) / 20_000
    quantiles = Normal(torch.zeros((), dtype=torch.double), 1.0).icdf(shares)
    one, two = 0.5 + 0.8 * quantiles, -0.2 + 1.3 * quantiles
    log = (
        torch.tensor([[0.8**2]], dtype=torch.double).log(),
        torch.tensor([[1.3**2]], dtype=torch.double).log(),
    )
    found = squared_wasserstein(torch.full((1, 1), 0.5), log[0], torch.full((1, 1), -0.2), log[1])
    assert found.item() == pytest.approx((one - two).square().mean().item(), rel=1e-3)


def test_nll_equals_torch() -> None:
    logits, pixels = normal(3, 1, 4, 4), normal(3, 1, 4, 4, seed=1).sigmoid().round()
    theirs = -Bernoulli(logits=logits).log_prob(pixels).flatten(1).sum(1)
    torch.testing.assert_close(bernoulli_nll(logits, pixels), theirs)


def test_entropy_is_the_lower_bound_of_nll() -> None:
    pixels = normal(3, 1, 4, 4).sigmoid()
    floor = bernoulli_entropy(pixels)
    torch.testing.assert_close(bernoulli_nll(pixels.logit(), pixels), floor)
    assert (bernoulli_nll(pixels.logit() + 0.1, pixels) > floor).all()
    assert bernoulli_entropy(pixels.round()).tolist() == [0, 0, 0]


def test_bernoulli_kl_equals_torch() -> None:
    old, new = 3 * normal(3, 1, 4, 4), 3 * normal(3, 1, 4, 4, seed=1)
    theirs = kl_divergence(Bernoulli(logits=old), Bernoulli(logits=new)).flatten(1).sum(1)
    torch.testing.assert_close(bernoulli_kl(old, new), theirs, rtol=1e-4, atol=1e-4)


def test_bernoulli_kl_by_hand() -> None:
    """p = 3/4 against p = 1/2: ln 2 - entropy(3/4)."""
    found = bernoulli_kl(torch.tensor([[3.0]]).log(), torch.zeros(1, 1))
    assert found.item() == pytest.approx(np.log(2) + 0.75 * np.log(0.75) + 0.25 * np.log(0.25), rel=1e-5)
