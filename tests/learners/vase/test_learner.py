"""VASE on images of bars, which move, rest, or are inverted."""

from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.capabilities import InfersEnvironment
from everlearn.learners.vase.learner import VASE
from everlearn.networks.divergences import bernoulli_nll
from everlearn.rng import rng_at
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch

QUICK: dict[str, Any] = {
    "image_shape": (16, 16),
    "size": "tiny",
    "n_latents": 12,
    "cooldown": 5,
    "patience": 2,
    "learning_rate": 0.01,
    "gamma": 100.0,
    "capacity_step": 0.005,
    "snapshot_every": 12,
}


def bars(number: int, *, static: bool = False, dark: bool = False, n: int = 32) -> Batch:
    """White bars of three widths at random positions or in the middle; or dark ones on white."""
    rng = rng_at(1, "bars", number)
    y, x = np.full((2, n), 5) if static else rng.integers(2 * n, 11).reshape(2, n)
    width = 3 + rng.integers(n, 3)
    images = np.zeros((n, 16, 16), np.uint8)
    for i in range(n):
        images[i, y[i] : y[i] + 5, x[i] : x[i] + width[i]] = 255
    return Batch(255 - images if dark else images, np.zeros(n, np.int64))


def trained(n_light: int = 12, n_dark: int = 4, **settings: Any) -> VASE:
    """Trained on light bars, then on dark ones, whose reconstruction error is high enough to be new."""
    learner = VASE(**{**QUICK, **settings})
    for number in range(n_light):
        learner.learn(bars(number))
    for number in range(n_dark):
        learner.learn(bars(number, dark=True))
    return learner


def encoded(learner: VASE, batch: Batch) -> Any:
    return learner.encode_batch(learner.to_pixels(batch.images))


LONG = {**QUICK, "cooldown": 5, "patience": 3, "learning_rate": 1e-5, "max_capacity": 12.0}
REST, MOVE = 40, 60
"""Batches at which the bars come to rest, and at which they move again."""
STD = 0.2


def factors(batch: Batch) -> torch.Tensor:
    """Top, left and width of bars, standardized, (n, 3)."""
    rows, columns = batch.images.max(2) > 0, batch.images.max(1) > 0
    found = np.stack([(rows.argmax(1) - 5) / 3, (columns.argmax(1) - 5) / 3, (columns.sum(1) - 4) / 0.8], 1)
    return torch.from_numpy(found).float()


def pretrained() -> VASE:
    """The first three latents encode the factors of moving bars; the prior is the posterior of the others."""
    learner = VASE(**LONG)
    optimizer = torch.optim.Adam(learner.net.parameters(), lr=4e-3)
    for number in range(250):
        batch = bars(5000 + number)
        z, pixels = factors(batch), learner.to_pixels(batch.images)
        mean, log_variance, _ = learner.net.encoder(pixels)
        target = torch.cat([z, torch.zeros(len(z), 9)], 1)
        log_target = torch.where(torch.arange(12) < 3, 2 * np.log(STD), 0.0)
        noise = torch.from_numpy(rng_at(1, "pretraining", number).normal(target.numel())).float()
        sampled = target + (log_target / 2).exp() * noise.view_as(target)
        logits = learner.net.decoder(sampled, torch.zeros(len(z), dtype=torch.long))
        loss = (mean - target).square().mean() + (log_variance - log_target).square().mean()
        loss = 10 * loss + bernoulli_nll(logits, pixels).mean() / 10
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():  # all environments are decoded alike at first
        learner.net.decoder.layers[0].weight[:, 12:] = 0  # type: ignore[index]
    learner.environments.current.capacity = 5.0
    return learner


@pytest.fixture(scope="module")
def long_run() -> tuple[VASE, list[dict[str, float]]]:
    """Moving bars, static ones, moving ones again."""
    learner = pretrained()
    return learner, [learner.learn(bars(n, static=REST <= n < MOVE)) for n in range(MOVE + 15)]


Run = tuple[VASE, list[dict[str, float]]]


def test_changes_of_environment_are_detected(long_run: Run) -> None:
    learner, losses = long_run
    assert learner.environment_changes() == [(REST + 3, 1), (MOVE + 3, 0)]
    skipped = [n for n, each in enumerate(losses) if each["skipped"]]
    assert skipped == [REST, REST + 1, MOVE, MOVE + 1]


def test_position_latents_are_masked_where_nothing_moves(long_run: Run) -> None:
    moving, static = long_run[0].environments.known
    assert np.flatnonzero(moving.used).tolist() == [0, 1, 2]
    assert np.flatnonzero(~static.mask).tolist() == [0, 1]
    assert moving.mask.all()


def test_capacity_restarts_and_is_kept_per_environment(long_run: Run) -> None:
    capacity = [each["capacity"] for each in long_run[1]]
    assert capacity[REST - 1] == pytest.approx(5 + REST * 0.005)
    assert capacity[REST + 2] < 4
    assert capacity[REST + 12] == pytest.approx(capacity[REST + 2] + 10 * 0.005)
    assert capacity[MOVE + 2] == pytest.approx(capacity[REST - 1] + 0.005)


def loaded(learner: VASE, **settings: Any) -> VASE:
    """The same state with other settings."""
    other = VASE(**{**LONG, **settings})
    other.load(learner.state())
    return other


def test_infer_environment_does_not_change_state(long_run: Run) -> None:
    learner = loaded(long_run[0], cooldown=0)
    assert isinstance(learner, InfersEnvironment)
    before = digest(learner.state())
    assert learner.infer_environment(bars(2000).images) == 0
    assert learner.infer_environment(bars(2000, dark=True).images) == -1
    assert learner.environment_probabilities(bars(2000).images).shape == (32, 2)
    assert digest(learner.state()) == before
    learner.environments.index = 1
    assert learner.infer_environment(bars(2000, static=True).images) == 1


def test_a_new_environment_is_entered_before_any_weight_changes() -> None:
    learner = trained(n_dark=0)
    before = digest({"net": learner.state()["net"]})
    assert learner.learn(bars(0, dark=True))["skipped"] == 1
    assert digest({"net": learner.state()["net"]}) == before
    learner.learn(bars(1, dark=True))
    assert learner.environment_changes() == [(14, 1)]
    assert digest({"net": learner.snapshot.state()["net"]}) == before
    assert learner.snapshot.n_environments == 1


def test_small_batches_do_not_change_the_environment() -> None:
    learner = trained(n_dark=0)
    for number in range(6):
        learner.learn(bars(number, dark=True, n=15))
    assert learner.environment_changes() == []


def test_save_and_load_while_a_change_is_pending() -> None:
    def run(*cuts: int) -> str:
        learner = VASE(**QUICK, exploration="random")
        for n in range(18):
            if n in cuts:
                saved = unpack(pack(learner.state()))
                learner = trained(n_dark=3, exploration="random")
                learner.load(saved)
            learner.learn(bars(n, dark=n >= 12))
        assert learner.environment_changes() == [(14, 1)]
        return digest(learner.state())

    assert run() == run(12, 13, 14, 16)


def test_without_environment_inference_there_is_one_environment() -> None:
    learner = trained(environment_inference=False)
    assert len(learner.environments.known) == 1
    assert learner.environments.current.n_batches == 16
    assert learner.environment_changes() is None


def test_without_masking_all_latents_are_active() -> None:
    learner = trained(latent_masking=False, mask_low=0.0, mask_high=0.0)
    assert all(each.active.all() for each in learner.environment_info())


def test_latents_that_no_other_environment_uses_stay_active() -> None:
    """Otherwise all could be masked before any is learned."""
    learner = trained(mask_low=0.0, mask_high=0.0)
    assert learner.environments.known[0].mask.all()
    learner.environments.known[0].used[:] = np.arange(12) < 2
    learner.update_mask(encoded(learner, bars(0, dark=True)))
    assert learner.environments.current.mask.tolist() == [False] * 2 + [True] * 10


def test_the_mask_of_an_inferred_environment_is_fixed() -> None:
    """Otherwise a mask that changes while an environment is learned would declare new environments."""
    learner = trained(mask_low=0.0, mask_high=0.0, mask_freeze_after=3)
    current = learner.environments.current
    assert current.n_batches == 3
    learner.environments.known[0].used[:] = True
    learner.update_mask(encoded(learner, bars(0, dark=True)))
    assert current.mask.all()


def test_capacity_restarts_at_the_kl_of_the_active_latents_when_the_mask_changes() -> None:
    """Otherwise the remaining latents would have to replace the KL of masked ones at once."""
    learner = trained(n_dark=0, environment_inference=False)
    current = learner.environments.current
    current.used[:] = True
    x = encoded(learner, bars(0))
    x.atypicality = np.where(np.arange(12) < 6, 9.0, 0.0)
    current.capacity = 5.0
    learner.update_mask(x)
    assert current.mask.tolist() == [False] * 6 + [True] * 6
    kl = learner.reconstruct_in(x, 0).kl.detach()
    assert (kl[:6] == 0).all()
    assert current.capacity == pytest.approx(float(kl.sum()))
    learner.update_mask(x)
    assert current.capacity == pytest.approx(float(kl.sum()))
    current.mask[:] = False
    learner.max_capacity = 0.001
    learner.update_mask(x)
    assert current.capacity == 0.001, "and never exceeds its maximum"


def test_without_environment_inference_masked_latents_keep_their_statistics() -> None:
    learner = VASE(**QUICK, environment_inference=False, mask_low=0.0, mask_high=0.0)
    only = learner.environments.current
    only.kl[:2], only.atypicality[:2], only.used[:2], only.n_batches = 5.0, 0.25, True, 50
    learner.learn(bars(0))
    assert only.kl[:2].tolist() == [5.0, 5.0]
    assert only.informative_kl[:2].tolist() == [4.75, 4.75]


def test_replay_loss_is_the_sum_of_its_terms() -> None:
    learner = trained(decoder_weight=3.0, replay_size=16)
    samples = learner.snapshot.sample(16, [0], rng_at(0, "vase dream", learner.n_steps))
    proximity = learner.snapshot.proximity(samples)
    x = encoded(learner, bars(0, dark=True))
    current = learner.environments.classifier_loss(x.posterior.features, torch.ones(32, dtype=torch.long))
    past = learner.environments.classifier_loss(proximity.features, torch.zeros(16, dtype=torch.long))
    expected = current + past + proximity.encoder + 3 * proximity.decoder
    assert learner.replay_loss(x).item() == pytest.approx(expected.item(), rel=1e-5)


def test_used_latents_have_their_own_weight_and_pixels_can_be_sampled() -> None:
    learner = trained(replay_size=16, encoder_weight=7.0, replay_pixels="sampled")
    learner.environments.known[0].used = np.arange(12) < 3
    rng = rng_at(0, "vase dream", learner.n_steps)
    samples = learner.snapshot.sample(16, [0], rng, sample_pixels=True)
    proximity = learner.snapshot.proximity(samples)
    mean, log_variance, features = learner.net.encoder(samples.pixels)
    mean_shift = (mean - samples.mean).square()
    std_shift = ((log_variance / 2).exp() - (samples.log_variance / 2).exp()).square()
    shift = (mean_shift + std_shift).mean(0)
    x = encoded(learner, bars(0, dark=True))
    current = learner.environments.classifier_loss(x.posterior.features, torch.ones(32, dtype=torch.long))
    past = learner.environments.classifier_loss(features, torch.zeros(16, dtype=torch.long))
    expected = current + past + 7 * shift[:3].sum() + shift[3:].sum() + proximity.decoder
    assert learner.replay_loss(x).item() == pytest.approx(expected.item(), rel=1e-5)


def test_without_generative_replay_only_the_classifier_is_trained() -> None:
    learner = trained(generative_replay=False)
    x = encoded(learner, bars(0))
    learner.optim.zero_grad(set_to_none=True)
    loss = learner.replay_loss(x)
    expected = learner.environments.classifier_loss(x.posterior.features, torch.ones(32, dtype=torch.long))
    assert loss.item() == expected.item()
    loss.backward()
    assert learner.environments.classifier.weight.grad is not None
    assert all(weight.grad is None for weight in learner.net.parameters())


def test_replayed_environments() -> None:
    assert trained(n_dark=0, snapshot_every=100).replayed_environments() == []
    assert trained().replayed_environments() == [0]
    assert trained(snapshot_every=14).replayed_environments() == [0], "not the current one"
    assert trained(environment_inference=False, snapshot_every=5).replayed_environments() == [0]


def test_generative_replay_reduces_forgetting() -> None:
    def nll(generative_replay: bool) -> float:
        learner = trained(n_light=40, n_dark=40, generative_replay=generative_replay)
        with torch.no_grad():
            return float(learner.reconstruct_in(encoded(learner, bars(99)), 0).nll)

    assert nll(generative_replay=True) < 0.9 * nll(generative_replay=False)


@pytest.mark.parametrize("reset", [False, True])
def test_optimizer_is_reset_only_on_request(reset: bool) -> None:
    """Thirteen steps: twelve on light bars and one on dark ones, of which the first batch is skipped."""
    learner = trained(n_dark=2, reset_optimizer=reset)
    steps = {int(learner.optim.state[weight]["step"]) for weight in learner.net.parameters()}
    assert steps == {1 if reset else 13}


def test_min_nll_is_the_entropy_of_the_pixels() -> None:
    gray = torch.full((8, 1, 16, 16), 0.5)
    assert VASE(**QUICK).encode_batch(gray).min_nll == pytest.approx(256 * np.log(2), rel=1e-5)
    assert VASE(**QUICK, excess_nll=False).encode_batch(gray).min_nll == 0


def test_max_environments() -> None:
    assert len(trained(max_environments=1).environments.known) == 1


def test_used_latents_are_those_with_an_informative_kl(long_run: Run) -> None:
    known = long_run[0].environments.known[0]
    assert (known.used == (known.informative_kl > 0.1)).all()


def with_masked_latents(exploration: str) -> VASE:
    """The first two latents are used in environment 0 and masked in the current one."""
    learner = trained(exploration=exploration)
    learner.environments.known[0].used[:] = np.arange(12) < 2
    learner.environments.current.mask = np.arange(12) >= 2
    return learner


@pytest.mark.parametrize("exploration", ["imagined", "random"])
def test_exploration_shifts_half_of_the_batch(exploration: str) -> None:
    learner = with_masked_latents(exploration)
    x = encoded(learner, bars(0, static=True))
    explored, policy_loss = learner.explore(x)
    assert (explored.pixels[16:] == x.pixels[16:]).all()
    assert (explored.pixels[:16] != x.pixels[:16]).any()
    assert (explored.unmasked[:16, :2] == 1).all()
    assert explored.unmasked.sum() == 32
    assert (float(policy_loss.detach()) > 0) == (exploration == "imagined")
    learner.environments.current.mask = np.ones(12, bool)
    assert learner.explore(x)[0] is x


def test_latents_activated_by_exploration_do_not_enter_the_statistics() -> None:
    """Otherwise a static batch would differ from its own environment, and a new one would be declared."""
    learner = with_masked_latents("random")
    current = learner.environments.current
    explored, _ = learner.explore(encoded(learner, bars(0, dark=True)))
    reconstruction = learner.reconstruct_in(explored, learner.environments.index)
    assert (reconstruction.kl[:2] > 0).all()
    current.kl[:] = 0.0
    learner.update_statistics(explored, reconstruction)
    assert (current.kl[:2] == 0).all()
    assert (current.kl[2:] > 0).all()


def test_mask_low_is_at_most_mask_high() -> None:
    with pytest.raises(BadInput, match="mask_low"):
        VASE(**QUICK, mask_low=0.6)


def test_no_images_have_no_environment_probabilities() -> None:
    learner = trained()
    shape = learner.environment_probabilities(bars(0).images).shape
    assert learner.environment_probabilities(bars(0)[:0].images).shape == (0, shape[1])
