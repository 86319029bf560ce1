import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners import ER, NCM, CWRStar, Naive
from everlearn.networks import module_state
from everlearn.serialization import digest
from everlearn.streams import sprites
from tests.learners.toy import FLAT, batch_of, view_of

TASKS = [sprites(image_size=16, classes_per_task=9, factor_values=2).task(k) for k in range(2)]


def test_average_is_the_exponential_mean_of_the_weights() -> None:
    learner, expected = Naive(**FLAT, average=0.75), np.zeros((3, 4))
    for step in range(4):
        learner.learn(batch_of([0, 1, 2], step))
        weights = learner.net.head.weight.detach().numpy()[:3]
        expected = weights.copy() if step == 0 else 0.75 * expected + 0.25 * weights
    assert learner.averaged.net is not None
    np.testing.assert_allclose(learner.averaged.net.head.weight[:3], expected, rtol=1e-5)


def test_average_includes_running_statistics() -> None:
    learner = Naive(image_shape=(16, 16), backbone="pooled", average=0.5)
    means = []
    for step in range(2):
        learner.learn(TASKS[0].train[8 * step : 8 * step + 8])
        means.append(module_state(learner.net)["backbone.norm.running_mean"])
    assert learner.averaged.net is not None
    averaged = module_state(learner.averaged.net)["backbone.norm.running_mean"]
    np.testing.assert_allclose(averaged, (means[0] + means[1]) / 2, rtol=1e-5)


def test_predictions_are_made_with_averaged_weights() -> None:
    learner = Naive.tiny()
    learner.learn(TASKS[0].train[:16])
    before = learner.predict(TASKS[0].test.images), learner.features(TASKS[0].test.images)
    with torch.no_grad():
        for weight in learner.net.parameters():
            weight.zero_()
    after = learner.predict(TASKS[0].test.images), learner.features(TASKS[0].test.images)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_average_grows_with_the_labels_and_survives_saving() -> None:
    learner, other = ER.tiny(), ER.tiny()
    for task in TASKS:  # 18 labels, more than the first capacity of the head
        learner.learn(task.train[:: len(task.train) // 16])
    other.load(learner.state())
    for each in (learner, other):
        each.learn(TASKS[1].train[:16])
    assert digest(learner.state()) == digest(other.state())
    assert learner.averaged.net is not None
    assert len(learner.averaged.net.head.labels) == len(learner.net.head.labels) > 16
    assert not any(weight.requires_grad for weight in learner.averaged.net.parameters())


def test_without_an_average_there_is_no_copy() -> None:
    plain, averaged = (Naive(image_shape=(16, 16), average=average) for average in (0.0, 0.9))
    for learner in (plain, averaged):
        learner.learn(TASKS[0].train[:16])
    assert "averaged" not in plain.state()
    assert averaged.footprint().weights == 2 * plain.footprint().weights


def test_frozen_features_keep_one_backbone() -> None:
    learner = NCM(image_shape=(2, 2), backbone="mlp")
    learner.learn(batch_of([0, 1, 2, 3]))
    during = learner.footprint().weights
    learner.end(view_of(batch_of([0, 1, 2, 3])))
    assert learner.footprint().weights < during / 2


def test_consolidated_weights_are_not_averaged() -> None:
    assert CWRStar.settings["average"].default == 0
    with pytest.raises(BadInput, match="average"):
        CWRStar(image_shape=(16, 16), average=0.5)
