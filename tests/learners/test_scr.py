import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.learners.scr import SCR, supervised_contrastive
from everlearn.networks.crops import random_crops
from everlearn.rng import rng_at
from everlearn.streams import sprites

from .toy import FLAT, batch_of

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)


def test_loss_is_that_of_the_paper() -> None:
    z = functional.normalize(torch.randn(8, 5, generator=torch.Generator().manual_seed(0)), dim=1).double()
    y, t = [0, 1, 2, 0, 0, 1, 2, 0], 0.3
    power = np.exp((z @ z.T).numpy() / t)
    losses = []
    for i in range(8):
        rest = sum(power[i, k] for k in range(8) if k != i)
        positives = [j for j in range(8) if y[j] == y[i] and j != i]
        losses.append(-np.mean([np.log(power[i, j] / rest) for j in positives]))
    loss = supervised_contrastive(z, torch.tensor(y), t)
    assert loss.item() == pytest.approx(np.mean(losses), rel=1e-6)


def test_images_and_their_crops_are_compared() -> None:
    learner, batch = SCR(**FLAT, embedding_size=3, temperature=0.5), batch_of([0, 1, 1])
    images = learner.tensor(batch.images)
    views = torch.cat([images, random_crops(images, 0.7, rng_at(0, "scr crops", 0))])
    with torch.no_grad():
        z = functional.normalize(learner.projection(views.flatten(1)), dim=1)
        expected = supervised_contrastive(z, torch.tensor([0, 1, 1, 0, 1, 1]), 0.5)
    assert learner.learn(batch)["loss"] == pytest.approx(expected.item(), rel=1e-5)


def test_backbone_and_projection_are_trained() -> None:
    learner = SCR.tiny()
    before = [weight.detach().clone() for weight in learner.parameters()]
    assert len(before) == len([*learner.net.backbone.parameters()]) + 4
    learner.learn(STREAM.task(0).train[:16])
    assert all(not torch.equal(old, new) for old, new in zip(before, learner.parameters(), strict=True))
    assert not learner.net.head.weight.any()


def test_prediction_is_the_nearest_mean_of_stored_images() -> None:
    learner, task = SCR.tiny(), STREAM.task(0)
    for batch in task.train.batches(16):
        learner.learn(batch)
        learner.predict(task.test.images)  # means must not be those of an earlier network
    stored, features = learner.buffer.everything(), learner.features(task.test.images)
    units = learner.features(stored.images)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    means = np.stack([units[stored.labels == label].mean(0) for label in (0, 1, 2)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    distances = np.linalg.norm(features[:, None] - means, axis=2)
    np.testing.assert_array_equal(learner.predict(task.test.images), distances.argmin(1))


def test_head_is_not_counted() -> None:
    learner = SCR.tiny()
    weights = [*learner.net.backbone.state_dict().values(), *learner.projection.state_dict().values()]
    assert learner.footprint().weights == sum(each.nbytes for each in weights)
