"""Replay sources, and a generator of simple activations."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from everlearn.learners.gnr.latent_replay import (
    ActivationMeans,
    FeatureExtractor,
    GeneratedActivations,
    LatentBatch,
    NoiseActivations,
    StoredActivations,
)
from everlearn.learners.stateful import Footprint
from everlearn.networks.cvae import ConditionalVAE

CENTERS = torch.tensor([[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])
"""Mean activations of each class."""


def cloud(column: int, n: int = 200) -> LatentBatch:
    noise = 0.2 * torch.randn(n, 4, generator=torch.Generator().manual_seed(column))
    return LatentBatch((CENTERS[column] + noise).relu(), torch.full((n,), column))


def settings(**changes: float) -> SimpleNamespace:
    defaults = {
        "seed": 0, "memory_size": 120, "generator_lr": 1e-2, "lr_decay": 0.0, "generator_epochs": 30,
        "generator_batch_size": 128, "generator_replay_size": 64, "beta": 2.0, "eta": 0.01,
    }  # fmt: skip
    return SimpleNamespace(**{**defaults, **changes})


def generating(**changes: float) -> GeneratedActivations:
    extractor = FeatureExtractor(lambda activations: activations, lambda features: features @ CENTERS.T, 0.0)
    return GeneratedActivations(
        ConditionalVAE(4, (4,), width=32, n_latents=3), extractor, settings(**changes)
    )


def distance(source: GeneratedActivations, column: int) -> float:
    """The distance of the mean generated activation of a class from its center."""
    made = source.buffer.of(column).extra["activations"]
    return float(torch.from_numpy(made).mean(0).sub(CENTERS[column]).norm())


def test_generator_retains_earlier_classes() -> None:
    source = generating()
    for task in range(3):
        source.prepare(range(task), task)
        source.fit(cloud(task), task)
    source.prepare(range(3), 3)
    assert set(source.counts()) == {0, 1, 2}
    assert max(distance(source, column) for column in range(3)) < 1.0


def test_generated_activations_keep_their_classes_over_many_tasks() -> None:
    """Forty classes in ten tasks; activations and their features are as wide as in a network."""
    centers = 3 * torch.rand(40, 256, generator=torch.Generator().manual_seed(0))
    near = lambda activations: -torch.cdist(activations, centers)  # noqa: E731  (the classifier)
    source = GeneratedActivations(
        ConditionalVAE(256, (256,), n_latents=32),
        FeatureExtractor(lambda activations: activations, near, 0.0),
        settings(memory_size=500, generator_lr=2e-3, generator_epochs=4, generator_replay_size=27, beta=0.1),
    )
    for task in range(10):
        source.prepare(range(4 * task), task)
        targets = torch.arange(4 * task, 4 * task + 4).repeat(100)
        noise = torch.randn(400, 256, generator=torch.Generator().manual_seed(task))
        source.fit(LatentBatch((centers[targets] + noise).relu(), targets), task)
    source.prepare(range(40), 10)
    made = source.sample(500, step=0)
    assert (near(made.activations).argmax(1) == made.targets).float().mean() > 0.9


def test_generator_forgets_without_replay() -> None:
    source = generating(generator_replay_size=0)
    for task in range(3):
        source.prepare(range(task), task)
        source.fit(cloud(task), task)
    source.prepare(range(3), 3)
    assert distance(source, 0) > 1.0


def test_generated_targets_are_balanced() -> None:
    source = generating(generator_epochs=1)
    source.fit(cloud(0, n=300), 0)
    source.fit(cloud(1, n=3), 1)
    source.prepare([0, 1], 2)
    assert min(source.counts().values()) > 40


def test_prepare_is_deterministic_and_nonnegative() -> None:
    source = generating(generator_epochs=1)
    source.fit(cloud(0), 0)
    source.prepare([0], 1)
    first = source.buffer.everything().extra["activations"]
    assert len(first) == 120
    assert first.min() >= 0
    source.prepare([0], 1)
    assert (first == source.buffer.everything().extra["activations"]).all(), "the same task, the same samples"
    source.prepare([0], 2)
    assert not (first == source.buffer.everything().extra["activations"]).all()


def test_class_means_measure_replayed_activations() -> None:
    means = ActivationMeans()
    for task in range(3):
        means.add(cloud(task))
    assert means.share_nearest(LatentBatch(CENTERS[:3], torch.arange(3))) == 1.0
    assert means.share_nearest(LatentBatch(CENTERS[[0, 2]], torch.tensor([1, 2]))) == 0.5
    assert means.footprint() == Footprint(), "it is no part of the method"
    loaded = ActivationMeans()
    loaded.load(means.state())
    loaded.add(cloud(0))
    assert (loaded.counts[0], loaded.counts[1]) == (2 * means.counts[0], means.counts[1])


def test_classifier_loss_trains_the_generator() -> None:
    """Activations with a wrong label: with a larger eta, samples are classified as the label."""
    probability = {}
    for eta in (0.0, 100.0):
        source = generating(eta=eta)
        source.fit(LatentBatch(cloud(0).activations, torch.full((200,), 1)), 0)
        source.prepare([1], 1)
        made = torch.from_numpy(source.buffer.everything().extra["activations"])
        probability[eta] = float((made @ CENTERS.T).softmax(1)[:, 1].mean())
    assert probability[100.0] > probability[0.0] + 0.5


def test_learning_rate_decays() -> None:
    source = generating(generator_epochs=1, lr_decay=0.9)
    rates = []
    for task in (0, 20):
        source.fit(cloud(0), task)
        rates.append(source.optim.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(1e-2, rel=1e-3)
    assert rates[1] == pytest.approx(1e-3, rel=1e-3)


def test_generator_grows_with_the_classes() -> None:
    source = generating(generator_epochs=1)
    source.fit(cloud(0), 0)
    wide = LatentBatch(torch.ones(40, 4), torch.arange(40))
    source.extractor = source.extractor._replace(logits=lambda features: features @ torch.ones(4, 40))
    source.fit(wide, 1)
    assert source.generator.class_embeddings.shape[0] == 64
    assert source.optim.state[source.generator.class_embeddings]["exp_avg"].shape[0] == 64


def some(n: int, column: int) -> LatentBatch:
    return LatentBatch(torch.full((n, 2, 3), float(column)), torch.full((n,), column))


def test_stored_activations_are_bounded_and_keep_their_targets() -> None:
    kept = StoredActivations(memory_size=10, seed=0)
    for column in range(5):
        kept.fit(some(20, column), task=column)
    values, targets = kept.sample(10, step=3)
    assert sum(kept.counts().values()) == len(targets) == 10
    assert len(kept.counts()) > 1
    assert (values == targets[:, None, None]).all()
    assert kept.footprint().memory == 10 * (2 * 3 * 4 + 8)


def test_samples_depend_on_the_step() -> None:
    kept = StoredActivations(memory_size=100, seed=0)
    kept.fit(LatentBatch(torch.arange(100.0)[:, None], torch.zeros(100, dtype=torch.long)), task=0)
    first, same, other = (kept.sample(5, step).activations for step in (7, 7, 8))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_noise_is_uniform_up_to_a_quantile() -> None:
    drawn = NoiseActivations(shape=(4, 5), memory_size=12, seed=0)
    real = torch.linspace(0, 10, 1001).view(-1, 1)
    drawn.fit(LatentBatch(real, torch.zeros(1001)), task=0)
    drawn.fit(LatentBatch(100 * real, torch.zeros(1001)), task=1)  # the range is taken once
    drawn.prepare([3, 5, 9], task=1)
    values, targets = drawn.sample(600, step=1)
    assert values.shape == (600, 4, 5)
    assert 0 <= float(values.min()) < 0.01
    assert 8.99 < float(values.max()) <= 9.0
    assert abs(float(values.mean()) - 4.5) < 0.1
    counts = np.bincount(targets.numpy(), minlength=10)
    assert set(np.flatnonzero(counts)) == {3, 5, 9}
    assert counts.max() - counts[counts > 0].min() < 80
    assert drawn.counts() == {3: 4, 5: 4, 9: 4}


def test_no_noise_without_classes() -> None:
    drawn = NoiseActivations(shape=(4,), memory_size=12, seed=0)
    drawn.prepare([], task=0)
    assert len(drawn.sample(5, step=0).targets) == 0
