from typing import Any

import numpy as np
import pytest
import torch

from everlearn.learners.vase.cci_vae import CCIVAE, Posterior, Reconstruction
from everlearn.learners.vase.learner import VASE
from everlearn.networks import module_state
from everlearn.rng import rng_at
from everlearn.serialization import digest
from everlearn.streams import Batch, sprites

BATCH = sprites(image_size=16, factor_values=2).task(0).train[:32]


def cci_vae(**settings: Any) -> CCIVAE:
    return CCIVAE(**{"image_shape": (16, 16), "size": "tiny", **settings})


@pytest.mark.parametrize(
    ("settings", "kl", "expected"),
    [({}, 5.0, 10 * 3.0**2), ({}, 1.5, 10 * 0.5**2), ({"entangled": True, "beta": 4.0}, 5.0, 20.0)],
)
def test_capacity_loss_is_equation_3(settings: dict[str, Any], kl: float, expected: float) -> None:
    """With C = 2 and gamma = 10."""
    reconstruction = Reconstruction(torch.zeros(()), torch.tensor([kl - 1, 1.0]))
    assert cci_vae(gamma=10, **settings).capacity_loss(reconstruction, 2.0).item() == pytest.approx(expected)


def test_capacity_grows_up_to_its_maximum() -> None:
    learner = cci_vae(capacity_step=0.4, max_capacity=1.0)
    assert [learner.learn(BATCH)["capacity"] for _ in range(4)] == pytest.approx([0.4, 0.8, 1.0, 1.0])


def test_training_meets_the_capacity() -> None:
    learner = cci_vae(capacity_step=0.02, gamma=100.0)
    losses = [learner.learn(BATCH) for _ in range(120)]
    assert abs(losses[-1]["kl"] - losses[-1]["capacity"]) < 0.5
    assert losses[-1]["reconstruction"] < losses[0]["reconstruction"]


def test_masked_latents_have_the_prior_and_no_gradient() -> None:
    mean, log_variance = (torch.ones(3, 2, requires_grad=True) for _ in range(2))
    posterior = Posterior(mean, log_variance, torch.zeros(3, 1)).masked(torch.tensor([1.0, 0.0]))
    (posterior.mean.sum() + posterior.log_variance.exp().sum()).backward()
    assert posterior.mean[:, 1].tolist() == posterior.log_variance[:, 1].tolist() == [0, 0, 0]
    for each in (mean, log_variance):
        assert each.grad is not None
        assert (each.grad[:, 1] == 0).all()
        assert (each.grad[:, 0] != 0).all()


def test_losses_equal_the_formula() -> None:
    learner = CCIVAE.tiny()
    pixels = learner.to_pixels(BATCH.images)
    with torch.no_grad():
        mean, log_variance, _ = learner.net.encoder(pixels)
        noise = rng_at(0, "variational latents", 0).normal(mean.numel())
        z = mean + torch.exp(log_variance / 2) * torch.from_numpy(noise).float().view_as(mean)
        p = torch.sigmoid(learner.net.decoder(z, torch.zeros(len(z), dtype=torch.long)))
        nll = -(pixels * p.log() + (1 - pixels) * (1 - p).log()).sum((1, 2, 3)).mean()
        kl = (0.5 * (mean**2 + log_variance.exp() - 1 - log_variance)).sum(1).mean()
    losses = learner.learn(BATCH)
    assert losses["reconstruction"] == pytest.approx(nll.item(), rel=1e-5)
    assert losses["kl"] == pytest.approx(kl.item(), rel=1e-4)


def test_vase_without_its_components_is_cci_vae() -> None:
    """Weight for weight, including a batch that is too small for environment inference."""
    ours = cci_vae(capacity_step=0.01)
    other = VASE(
        image_shape=(16, 16), size="tiny", capacity_step=0.01, max_environments=1,
        environment_inference=False, generative_replay=False, latent_masking=False,
    )  # fmt: skip
    for n in (32, 32, 8, 32):
        assert ours.learn(BATCH[:n]).items() <= other.learn(BATCH[:n]).items()
    assert digest(module_state(ours.net)) == digest(module_state(other.net))


def test_posterior_and_decode() -> None:
    learner = CCIVAE.tiny()
    means, stds = learner.posterior(BATCH.images)
    assert means.shape == stds.shape == (32, 24)
    assert (stds > 0).all()
    np.testing.assert_array_equal(learner.encode(BATCH.images), means)
    assert learner.encode(BATCH.images[:0]).shape == (0, 24)
    images = learner.decode(means)
    assert images.shape == BATCH.images.shape
    assert ((images > 0) & (images < 1)).all()
    color = CCIVAE.tiny(image_shape=(16, 16, 3))
    assert color.decode(np.zeros((2, 24))).shape == (2, 16, 16, 3)


def test_labels_are_not_used() -> None:
    one, two = CCIVAE.tiny(), CCIVAE.tiny()
    assert one.learn(BATCH) == two.learn(Batch(BATCH.images, BATCH.labels[::-1].copy()))
