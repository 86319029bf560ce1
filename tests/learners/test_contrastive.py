import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.contrastive import Contrastive
from everlearn.streams import Batch, sprites

STREAM = sprites(image_size=32, classes_per_task=4, factor_values=4)


def test_losses_by_hand() -> None:
    """Embeddings (1, 0) and (0, 1) of two classes whose exemplars are (1, 0) and (-1, 0), temperature 1/2."""
    embeddings, exemplars = torch.eye(2), torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    losses = Contrastive.tiny()._losses(embeddings, exemplars, torch.tensor([0, 1]))
    # l1: -1 / .5 + log e^0 = -2 and -0 / .5 + log e^0 = 0; l2: -1 / .5 + log e^(-1 / .5) = -4 for both.
    assert losses["pull"].item() == pytest.approx(-1)
    assert losses["separation"].item() == pytest.approx(-4)


def test_losses_are_those_of_the_paper() -> None:
    generator = torch.Generator().manual_seed(0)
    z = torch.nn.functional.normalize(torch.randn(7, 5, generator=generator), dim=1)
    e = torch.nn.functional.normalize(torch.randn(3, 5, generator=generator), dim=1)
    c, t = [0, 1, 2, 0, 1, 2, 0], 0.2
    l1 = [
        -np.log(
            np.exp(float(z[i] @ e[c[i]]) / t)
            / sum(np.exp(float(z[i] @ z[k]) / t) for k in range(7) if c[k] != c[i])
        )
        for i in range(7)
    ]
    l2 = [
        -np.log(np.exp(1 / t) / sum(np.exp(float(e[c[i]] @ e[k]) / t) for k in range(3) if k != c[i]))
        for i in range(7)
    ]
    losses = Contrastive(image_shape=(16, 16), temperature=t)._losses(z, e, torch.tensor(c))
    assert losses["pull"].item() == pytest.approx(np.mean(l1), rel=1e-5)
    assert losses["separation"].item() == pytest.approx(np.mean(l2), rel=1e-5)


def test_batch_of_one_class_has_finite_losses() -> None:
    batch, learner = STREAM.task(0).train, Contrastive.tiny(image_shape=(32, 32))
    learner.begin(STREAM.task(0).for_learner())
    losses = learner.learn(batch[batch.labels == 2][:8])
    assert losses["separation"] == 0
    assert -2 <= losses["pull"] <= 2  # minus the cosine over 1/2
    assert all(torch.isfinite(weight).all() for weight in learner.net.parameters())


def test_training_improves_accuracy() -> None:
    task, learner = STREAM.task(0), Contrastive.tiny(image_shape=(32, 32))
    learner.begin(task.for_learner())
    some = task.train.shuffled(0)[:200]
    before = np.mean(learner.predict(some.images) == some.labels)
    for epoch in range(6):
        for batch in task.train.shuffled(0, epoch).batches(32):
            learner.learn(batch)
    assert before < 0.4
    assert np.mean(learner.predict(some.images) == some.labels) > 0.55


def test_optimizer_setting() -> None:
    task = STREAM.task(0)
    learner = Contrastive(image_shape=(32, 32), optimizer="sgd", learning_rate=0.5)
    learner.begin(task.for_learner())
    before = [weight.detach().clone() for weight in learner.net.parameters()]
    learner.learn(task.train[:16])
    for old, weight in zip(before, learner.net.parameters(), strict=True):
        assert weight.grad is not None
        torch.testing.assert_close(weight.detach(), old - 0.5 * weight.grad)


def test_forgotten_class_is_not_predicted() -> None:
    task, learner = STREAM.task(0), Contrastive.tiny(image_shape=(32, 32))
    learner.begin(task.for_learner())
    assert 2 in learner.predict(task.exemplars.images)
    learner.memory.forget(2)
    assert 2 not in learner.predict(task.train.images)


def test_novelty_of_exemplars_is_zero() -> None:
    task, learner = STREAM.task(0), Contrastive.tiny(image_shape=(32, 32))
    assert (learner.novelty(task.exemplars.images) == 1).all()
    learner.begin(task.for_learner())
    known, other = learner.novelty(task.exemplars.images), learner.novelty(task.test.images)
    np.testing.assert_allclose(known, 0, atol=1e-12)
    assert other.min() > 10 * known.max()


def test_first_image_of_a_class_without_exemplar_is_stored() -> None:
    batch, learner = STREAM.task(0).train[:12], Contrastive.tiny(image_shape=(32, 32))
    learner.learn(Batch(batch.images, batch.labels))
    for label in np.unique(batch.labels).tolist():
        first = batch.images[batch.labels == label][0]
        np.testing.assert_array_equal(learner.memory.images_of(label), first[None])


def test_adam_takes_no_momentum() -> None:
    with pytest.raises(BadInput, match="adam has its own"):
        Contrastive(momentum=0.9)
