import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.learners.prd import PRD, relation_divergence
from everlearn.learners.scr import supervised_contrastive
from everlearn.networks.crops import random_crops
from everlearn.rng import rng_at
from everlearn.streams import sprites

from .toy import FLAT, batch_of, view_of

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)
SETTINGS = {**FLAT, "embedding_size": 3, "prototype_lr": 0.25}


def units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def views_of(learner: PRD, batch: object) -> torch.Tensor:
    images = learner.tensor(batch.images)  # type: ignore[attr-defined]
    crops = random_crops(images, 0.7, rng_at(0, "prd crops", learner.n_steps))
    return torch.cat([images, crops])


def test_losses_of_the_first_task() -> None:
    learner, batch = PRD(**SETTINGS, temperature=0.5, prototype_weight=3.0), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    views, labels = views_of(learner, batch), [0, 1, 1, 0, 1, 1]
    with torch.no_grad():
        z = functional.normalize(learner.projection(views.flatten(1)), dim=1)
        contrast = supervised_contrastive(z, torch.tensor(labels), 0.5).item()
    f, p = units(views.flatten(1).double().numpy()), learner.net.head.weight[:2].detach().double().numpy()
    cosines = f @ units(p).T
    tightness = 3 * (1 - cosines[range(6), labels]).mean()
    losses = learner.learn(batch)
    expected = {"loss": contrast + tightness, "contrast": contrast, "prototypes": tightness}
    assert losses == pytest.approx(expected, rel=1e-5)
    # Each prototype is moved towards the features of its class: d cos / dp = (f / |f| - cos p / |p|) / |p|.
    moved = p.copy()
    for i, label in enumerate(labels):
        unit, length = units(p)[label], np.linalg.norm(p[label])
        moved[label] += 0.25 * 3 / 6 * (f[i] - cosines[i, label] * unit) / length
    np.testing.assert_allclose(learner.net.head.weight[:2].detach(), moved, atol=1e-5)


def test_relations_are_shares_of_images_for_each_prototype() -> None:
    rng = np.random.default_rng(0)
    now, before, t = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), 0.7
    divergences = []
    for k in range(3):
        p, q = (np.exp(x[:, k] / t) / np.exp(x[:, k] / t).sum() for x in (before, now))
        divergences.append((p * np.log(p / q)).sum())
    found = relation_divergence(torch.from_numpy(now), torch.from_numpy(before), t)
    assert found.item() == pytest.approx(np.mean(divergences))


def test_relations_to_old_prototypes_are_those_of_the_last_task() -> None:
    """Nothing has changed at first; then an old prototype is turned."""
    learner, new = PRD(**SETTINGS, relation_weight=2.0, relation_temperature=0.3), batch_of([2, 3], number=1)
    learner.learn(batch_of([0, 1, 1]))
    learner.end(view_of(batch_of([0, 1, 1])))
    learner.net.eval()
    learner.add_labels(new.labels)
    views = views_of(learner, new)
    features = learner.net.backbone(views)
    assert learner.relation_loss(views, features).item() == pytest.approx(0, abs=1e-6)
    old = units(learner.net.head.weight[:2].detach().double().numpy())
    with torch.no_grad():
        learner.net.head.weight[0] = torch.tensor([1.0, -2.0, 0.5, 1.0])
    turned = units(learner.net.head.weight[:2].detach().double().numpy())
    f = units(features.detach().double().numpy())
    before, now = (torch.from_numpy(f @ p.T) for p in (old, turned))
    expected = 2 * relation_divergence(now, before, 0.3).item()
    assert learner.learn(new)["relations"] == pytest.approx(expected, rel=1e-4)


def test_relations_train_old_prototypes_and_prototypes_do_not_train_features() -> None:
    learner = PRD(image_shape=(16, 16), relation_weight=0.0, prototype_weight=1e6, optimizer="sgd")
    other = PRD(image_shape=(16, 16), relation_weight=0.0, prototype_weight=0.0, optimizer="sgd")
    batch = STREAM.task(0).train[:16]
    for each in (learner, other):
        each.learn(batch)
    for one, two in zip(learner.net.backbone.parameters(), other.net.backbone.parameters(), strict=True):
        torch.testing.assert_close(one, two)
    tiny = PRD.tiny()
    tiny.learn(batch)
    tiny.end(STREAM.task(0).for_learner())
    before = tiny.net.head.weight[:3].detach().clone()
    for batch in STREAM.task(1).train.batches(16):
        tiny.learn(batch)
    assert (tiny.net.head.weight[:3] != before).any(1).all()


def test_prediction_is_the_prototype_with_the_largest_cosine() -> None:
    learner, batch = PRD(**SETTINGS), batch_of([5, 6, 7] * 4)
    learner.learn(batch)
    features = learner.features(batch.images)
    assert learner.inference_net is learner.averaged.net
    prototypes = learner.inference_net.head.weight[:3].detach().double().numpy()
    expected = np.array([5, 6, 7])[(features @ units(prototypes).T).argmax(1)]
    assert len(set(expected.tolist())) > 1
    np.testing.assert_array_equal(learner.predict(batch.images), expected)


def test_no_image_is_stored() -> None:
    learner = PRD.tiny()
    learner.learn(STREAM.task(0).train[:16])
    assert learner.footprint().memory == 0
