import numpy as np
import torch

from everlearn.learners.averaging import AveragedCopy
from everlearn.learners.naive import Naive
from everlearn.networks import to_tensor
from everlearn.streams import sprites

TASKS = [sprites(image_size=16, classes_per_task=3, factor_values=2).task(k) for k in range(2)]


def test_weights_and_statistics_are_averaged() -> None:
    learner = Naive.tiny()
    learner.learn(TASKS[0].train[:16])
    copy = AveragedCopy(learner.net)
    copy.update()
    before = {name: each.clone() for name, each in learner.net.state_dict().items()}
    learner.learn(TASKS[0].train[16:32])
    copy.average(0.25)
    assert copy.net is not None
    for name, average in copy.net.state_dict().items():
        if average.is_floating_point():
            expected = 0.75 * before[name] + 0.25 * learner.net.state_dict()[name]
            torch.testing.assert_close(average, expected)


def test_new_labels_are_copied_and_the_others_are_not() -> None:
    learner = Naive.tiny()
    learner.learn(TASKS[0].train[:16])
    copy = AveragedCopy(learner.net)
    copy.update()
    then = learner.net.head.weight[:3].detach().clone()
    for batch in TASKS[1].train.batches(8):
        learner.learn(batch)
    learner.add_labels(np.arange(100, 140))  # a head of another size
    copy.add_labels()
    assert copy.net is not None
    assert copy.net.head.labels == learner.net.head.labels
    torch.testing.assert_close(copy.net.head.weight[:3], then)
    torch.testing.assert_close(copy.net.head.weight[3:], learner.net.head.weight[3:].detach())
    assert not copy(to_tensor(TASKS[0].test.images)).requires_grad


def test_statistics_can_follow_images_instead() -> None:
    learner = Naive.tiny()
    learner.learn(TASKS[0].train[:16])
    copy, images = AveragedCopy(learner.net), to_tensor(TASKS[0].train.images)
    copy.update()
    assert copy.net is not None
    before = {name: each.clone() for name, each in copy.net.named_buffers()}
    learner.learn(TASKS[0].train[16:32])
    copy.average(0.25, statistics=False)
    assert all(torch.equal(before[name], each) for name, each in copy.net.named_buffers())
    for _ in range(60):
        logits = copy.in_training(images)
    assert not copy.net.training
    torch.testing.assert_close(copy(images), logits, atol=0.02, rtol=0)
