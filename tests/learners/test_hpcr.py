import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.learners.hpcr import HPCR, contrast, log_relations
from everlearn.memory import Sample
from everlearn.networks.crops import random_crops
from everlearn.rng import rng_at

from .toy import FLAT, batch_of, view_of


def unit(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return functional.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(seed)), dim=1)


def test_labels_of_the_step_compete_as_often_as_they_occur() -> None:
    logits, labels = unit(5, 4) * 3, [1, 3, 1, 1, 0]
    power = np.exp(logits.double().numpy())
    losses = [
        -np.log(power[i, labels[i]] / (3 * power[i, 1] + power[i, 3] + power[i, 0])) for i in range(5)
    ]  # label 2 does not occur
    assert contrast(logits, torch.tensor(labels)).item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_loss_of_the_first_step() -> None:
    learner, batch = HPCR(**FLAT, temperature=0.5, min_factor=0.7), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    images = learner.tensor(batch.images)
    views = torch.cat([images, random_crops(images, 0.7, rng_at(0, "hpcr crops", 0))]).flatten(1)
    proxies = learner.net.head.weight[:2].detach()
    cosines = torch.cosine_similarity(views[:, None], proxies, dim=2)
    expected = 0.7 * contrast(cosines / 0.5, torch.tensor([0, 1, 1] * 2)).item()
    losses = learner.learn(batch)
    assert losses == pytest.approx({"loss": expected, "contrast": expected}, rel=1e-5)


def test_factor_follows_a_cosine() -> None:
    learner, factors = HPCR(**FLAT, min_factor=1.0, max_factor=3.0, period=8), []
    for learner.n_steps in (0, 2, 4, 6, 8):
        factors.append(learner.factor())
    assert factors == pytest.approx([1, 2, 3, 2, 1])


def test_error_of_logits_of_labels_that_were_known() -> None:
    """Stored logits (1, 2) and (5, ?); the step has labels 0, 1, 1 and 2, which is new to both."""
    learner = HPCR(**FLAT)
    then = np.array([[1, 2], [5, np.nan]], np.float32)
    sample = Sample(np.zeros((2, 2, 2), np.uint8), np.array([0, 0]), extra={"logits": then})
    logits = torch.tensor([[[1.5, 2.0, 9.0], [5.0, 7.0, 9.0]], [[1.0, 4.0, 9.0], [6.0, 8.0, 9.0]]])
    # Four pairs of image and label have a target, in two views: errors 0.5, 0, 0, 0 and 0, 2, 2, 1.
    expected = (0.25 + 0 + 0 + 0 + 0 + 4 + 4 + 1) / 8
    error = learner.logit_error(sample, logits, torch.tensor([0, 1, 1, 2]))
    assert error.item() == pytest.approx(expected)


def test_relations_of_features_by_hand() -> None:
    learner, t = HPCR(**FLAT, temperature=0.4), 0.4
    stored, features = unit(3, 4), unit(6, 4, seed=1).view(2, 3, 4)
    old, new = stored.repeat(2, 1).double().numpy(), features.flatten(0, 1).double().numpy()
    losses = []
    for i in range(6):
        others = [j for j in range(6) if j != i]
        p, q = (np.exp(x[i] @ x[others].T / t) for x in (old, new))
        losses.append(-(p / p.sum() * np.log(q / q.sum())).sum())
    sample = Sample(np.zeros((3, 2, 2), np.uint8), np.zeros(3, np.int64), extra={"features": stored.numpy()})
    assert learner.relation_loss(sample, features).item() == pytest.approx(np.mean(losses), rel=1e-5)
    assert torch.isneginf(log_relations(stored, t).diagonal()).all()


def test_distillation_starts_with_the_second_task() -> None:
    learner = HPCR(**FLAT)
    learner.learn(batch_of([0, 1]))
    assert sorted(learner.learn(batch_of([0, 1], number=1))) == ["contrast", "loss"]
    learner.end(view_of(batch_of([0, 1])))
    losses = learner.learn(batch_of([2, 3], number=2))
    assert losses["loss"] == pytest.approx(sum(losses.values()) - losses["loss"], rel=1e-5)
    assert losses["relations"] > 0
    assert losses["logits"] > 0


def test_prediction_is_the_proxy_with_the_largest_cosine() -> None:
    learner, batch = HPCR(**FLAT), batch_of([5, 6, 7] * 4)
    learner.learn(batch)
    features = learner.features(batch.images)
    proxies = learner.net.head.weight[:3].detach().double().numpy()
    proxies /= np.linalg.norm(proxies, axis=1, keepdims=True)
    expected = np.array([5, 6, 7])[(features @ proxies.T).argmax(1)]
    assert len(set(expected.tolist())) > 1
    np.testing.assert_array_equal(learner.predict(batch.images), expected)


def test_new_labels_do_not_change_known_proxies() -> None:
    learner = HPCR(**FLAT)
    learner.add_labels(np.arange(10))
    before = learner.net.head.weight[:10].detach().clone()
    learner.add_labels(np.arange(40))
    torch.testing.assert_close(learner.net.head.weight[:10].detach(), before)
    assert (learner.net.head.weight[:40].norm(dim=1) > 0).all()
