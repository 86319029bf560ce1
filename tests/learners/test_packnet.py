import numpy as np
import pytest
import torch

from everlearn.learners.naive import Naive
from everlearn.learners.packnet import FREE, PackNet
from everlearn.streams import sprites

from .toy import FLAT, batch_of, cross_entropy, set_head, some_head

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2, scenario="task-incremental")


def train(learner: PackNet, index: int, epochs: int = 1) -> None:
    view = STREAM.task(index).for_learner()
    learner.begin(view)
    for batch in [*view.train.batches(16)] * epochs:
        learner.learn(batch)
    learner.end(view)


def outputs(learner: PackNet, task: int) -> np.ndarray:
    learner.net.eval()
    with torch.no_grad():
        return learner.task_probabilities(STREAM.task(0).train.images, task)[:, :3]


def test_largest_free_weights_are_kept_and_others_are_zero() -> None:
    learner = PackNet(image_shape=(2, 2), backbone="mlp", kept=0.3)
    (first, second) = learner.pruned_weights().values()
    before = first.detach().clone()
    learner.owners[0][:, 0] = 7  # of another task
    learner.prune()
    free = before[:, 1:]
    least = free.abs().flatten().sort(descending=True).values[int(np.ceil(0.3 * free.numel())) - 1]
    assert torch.equal(learner.owners[0][:, 1:] == 1, free.abs() >= least)
    assert torch.equal(first[:, 1:].detach(), free * (free.abs() >= least))
    assert torch.equal(first[:, 0].detach(), before[:, 0])
    assert float((second != 0).float().mean()) == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize("backbone", ["small", "small-renorm"])
def test_later_tasks_do_not_change_the_outputs_of_earlier_ones(backbone: str) -> None:
    learner = PackNet(image_shape=(16, 16), backbone=backbone, learning_rate=0.01)
    train(learner, 0, epochs=10)
    before = outputs(learner, 0)
    for index in (1, 2):
        weights = [w.detach().clone() for w in learner.pruned_weights().values()]
        train(learner, index)
        changed = [
            (old != new).any() for old, new in zip(weights, learner.pruned_weights().values(), strict=True)
        ]
        assert all(changed)
    np.testing.assert_allclose(outputs(learner, 0), before, atol=1e-6)
    assert before.std(0).max() > 0.01


def test_only_kept_weights_are_trained_after_pruning() -> None:
    learner = PackNet.tiny()
    train(learner, 0)
    for weight, owner in zip(learner.pruned_weights().values(), learner.owners, strict=True):
        assert not weight[owner == FREE].any()
    without = PackNet(image_shape=(16, 16), passes=0)
    train(without, 0)
    pairs = zip(learner.pruned_weights().values(), without.pruned_weights().values(), strict=True)
    assert all(not torch.equal(trained, pruned) for trained, pruned in pairs)


def test_loss_compares_the_labels_of_the_task_only() -> None:
    learner, batch = PackNet(**FLAT), batch_of([3, 2, 3])
    learner.add_labels(np.arange(4))
    learner.rows, learner.n_ended = [[0, 8], [0, 9], [1, 2], [1, 3]], 1
    set_head(learner, some_head(4))
    expected = cross_entropy(some_head(4)[2:], batch, [1, 0, 1])
    assert learner.learn(batch)["loss"] == pytest.approx(expected, rel=1e-5)


def test_first_task_is_trained_like_any_network() -> None:
    learner, naive = PackNet.tiny(), Naive.tiny()
    for batch in STREAM.task(0).train.batches(16):
        assert learner.learn(batch) == naive.learn(batch)


def test_task_ids_restrict_predictions() -> None:
    """Both tasks have labels 0, 1 and 2, each with logits of its own."""
    learner = PackNet.tiny()
    for index in range(2):
        train(learner, index)
    images, n = STREAM.task(0).test.images, 3
    scores = np.stack([learner.task_probabilities(images, task) for task in (0, 1)])
    assert not scores[0, :, n:].any()
    assert not scores[1, :, :n].any()
    labels = np.array([label for _, label in learner.rows])
    assert sorted(labels[:n]) == sorted(labels[n:]) == [0, 1, 2]
    for task in (0, 1):
        expected = labels[scores[task].argmax(1)]
        np.testing.assert_array_equal(learner.predict(images, np.full(len(images), task)), expected)
    np.testing.assert_array_equal(learner.predict(images), labels[scores.max(0).argmax(1)])
    np.testing.assert_array_equal(learner.predict(images, np.full(len(images), 9)), learner.predict(images))
