import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners import ER, NCM, CWRStar, Naive
from everlearn.learners.averaging import AveragedNet
from everlearn.networks import module_state, to_tensor
from everlearn.serialization import digest
from everlearn.streams import sprites
from tests.learners.toy import FLAT, batch_of, view_of

TASKS = [sprites(image_size=16, classes_per_task=9, factor_values=2).task(k) for k in range(2)]
FEW = [sprites(image_size=16, classes_per_task=3, factor_values=2).task(k) for k in range(2)]


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


def test_weights_and_statistics_are_averaged() -> None:
    learner = Naive.tiny()
    learner.learn(FEW[0].train[:16])
    copy = AveragedNet(learner.net)
    copy.update()
    before = {name: each.clone() for name, each in learner.net.state_dict().items()}
    learner.learn(FEW[0].train[16:32])
    copy.average(0.25)
    assert copy.net is not None
    for name, average in copy.net.state_dict().items():
        if average.is_floating_point():
            expected = 0.75 * before[name] + 0.25 * learner.net.state_dict()[name]
            torch.testing.assert_close(average, expected)


def test_new_labels_are_copied_and_the_others_are_not() -> None:
    learner = Naive.tiny()
    learner.learn(FEW[0].train[:16])
    copy = AveragedNet(learner.net)
    copy.update()
    then = learner.net.head.weight[:3].detach().clone()
    for batch in FEW[1].train.batches(8):
        learner.learn(batch)
    learner.add_labels(np.arange(100, 140))  # a head of another size
    copy.add_labels()
    assert copy.net is not None
    assert copy.net.head.labels == learner.net.head.labels
    torch.testing.assert_close(copy.net.head.weight[:3], then)
    torch.testing.assert_close(copy.net.head.weight[3:], learner.net.head.weight[3:].detach())
    assert not copy(to_tensor(FEW[0].test.images)).requires_grad


def test_statistics_can_follow_images_instead() -> None:
    learner = Naive.tiny()
    learner.learn(FEW[0].train[:16])
    copy, images = AveragedNet(learner.net), to_tensor(FEW[0].train.images)
    copy.update()
    assert copy.net is not None
    before = {name: each.clone() for name, each in copy.net.named_buffers()}
    learner.learn(FEW[0].train[16:32])
    copy.average(0.25, statistics=False)
    assert all(torch.equal(before[name], each) for name, each in copy.net.named_buffers())
    for _ in range(60):
        logits = copy.in_training(images)
    assert not copy.net.training
    torch.testing.assert_close(copy(images), logits, atol=0.02, rtol=0)
