import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.dgr import DGR
from everlearn.learners.naive import Naive
from everlearn.rng import rng_at
from everlearn.streams import sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)


def after_one_task() -> DGR:
    learner, task = DGR.tiny(), STREAM.task(0)
    for batch in task.train.batches(8):
        learner.learn(batch)
    learner.end(task.for_learner())
    return learner


def test_generator_loss_by_hand() -> None:
    """-log likelihood of all pixels and KL divergence of all latents, per image."""
    learner, images = DGR.tiny(), DGR.tiny().tensor(STREAM.task(0).train.images[:5])
    x = (images + 0.66).double()
    loss = learner.generator_loss(images, rng_at(0, "test dgr"))
    with torch.no_grad():
        mean, log_variance, _ = learner.generator.net.encoder((images + 0.66).clamp(0, 1))
        noise = torch.from_numpy(rng_at(0, "test dgr").normal(20)).float().view(5, 4)
        latents = mean + torch.exp(log_variance / 2) * noise
        p = learner.generator.net.decoder(latents, torch.zeros(5, dtype=torch.long)).double().sigmoid()
    likelihood = (x * p.log() + (1 - x) * (1 - p).log()).flatten(1).sum(1)
    variance = log_variance.exp()
    kl = 0.5 * (mean**2 + variance - 1 - variance.log()).sum(1)
    assert loss.item() == pytest.approx((kl - likelihood).mean().item(), rel=1e-5)


def test_new_and_generated_images_are_weighted_by_tasks() -> None:
    learner, twin, batch = after_one_task(), after_one_task(), STREAM.task(1).train[:8]
    learner.end(STREAM.task(0).for_learner())  # as if there had been two tasks
    twin.end(STREAM.task(0).for_learner())
    rng = rng_at(0, "dgr samples", twin.n_steps)
    twin.net.train()
    images, targets = twin.tensors(batch)
    new = functional.cross_entropy(twin.net(images), targets).item(), twin.generator_loss(images, rng).item()
    generated, labels = twin.generated(64, rng)
    old = (
        functional.cross_entropy(twin.net(generated), labels).item(),
        twin.generator_loss(generated, rng).item(),
    )
    expected = np.array(new) / 3 + np.array(old) * 2 / 3
    losses = learner.learn(batch)
    np.testing.assert_allclose([losses["loss"], losses["generator"]], expected, rtol=1e-5)


def test_generated_images_are_labelled_by_the_old_classifier() -> None:
    learner = after_one_task()
    then = {name: each.clone() for name, each in learner.net.state_dict().items()}
    before, labels = learner.generated(20, rng_at(0, "test dgr"))
    for batch in STREAM.task(1).train.batches(8):
        learner.learn(batch)
    after, later = learner.generated(20, rng_at(0, "test dgr"))
    assert any(not torch.equal(each, then[name]) for name, each in learner.net.state_dict().items())
    torch.testing.assert_close(after, before)
    assert torch.equal(later, labels)
    assert labels.max() < 3
    assert -0.66 <= before.min() < before.max() <= 0.34


def test_first_task_is_trained_as_without_replay() -> None:
    learner, naive, batch = DGR.tiny(), Naive.tiny(), STREAM.task(0).train[:8]
    assert learner.learn(batch)["loss"] == naive.learn(batch)["loss"]


def test_generator_learns() -> None:
    learner, task = DGR(image_shape=(16, 16), generator_size="tiny", n_latents=8), STREAM.task(0)
    losses = [learner.learn(batch)["generator"] for _ in range(15) for batch in task.train.batches(16)]
    x = (task.train.images / 255).clip(1e-9, 1 - 1e-9)
    least = -(x * np.log(x) + (1 - x) * np.log1p(-x)).sum() / len(task.train)  # gray pixels have entropy
    assert least < np.mean(losses[-3:]) < least + 0.7 * (losses[0] - least)


def test_image_sizes_that_cannot_be_halved_are_refused() -> None:
    with pytest.raises(BadInput, match="multiples of 8"):
        DGR(image_shape=(28, 28))
