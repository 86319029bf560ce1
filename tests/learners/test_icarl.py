import numpy as np
import pytest

from everlearn.learners.icarl import ICaRL
from everlearn.memory import herd
from everlearn.streams import Batch

from .toy import FLAT, batch_of, logits_of, pixels, set_head, some_head, view_of


def unit_features(batch: Batch) -> np.ndarray:
    seen = pixels(batch)
    return np.asarray(seen / np.linalg.norm(seen, axis=1, keepdims=True))


def sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-values)))


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_loss_is_binary_cross_entropy_with_soft_targets(temperature: float) -> None:
    learner, new = ICaRL(**FLAT, temperature=temperature), batch_of([2, 3, 2])
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))
    learner.end(view_of(batch_of([0, 1])))
    learner.add_labels(new.labels)
    moved = some_head(4, number=1)
    set_head(learner, moved)
    targets = np.eye(4)[[2, 3, 2]]
    targets[:, :2] = sigmoid(logits_of(some_head(2), new) / temperature)
    probabilities = sigmoid(logits_of(moved, new))
    expected = -(targets * np.log(probabilities) + (1 - targets) * np.log(1 - probabilities)).sum(1).mean()
    assert float(learner.loss(*learner.tensors(new)).detach()) == pytest.approx(expected, rel=1e-5)


def test_exemplars_are_chosen_by_herding() -> None:
    learner, task = ICaRL(**FLAT, memory_size=6), batch_of([0, 1] * 20)
    learner.add_labels(task.labels)
    learner.end(view_of(task))
    for label in (0, 1):
        members = task[task.labels == label]
        expected = members.images[herd(unit_features(members), 3)]
        np.testing.assert_array_equal(learner.buffer.of(label).images, expected)


def test_exemplars_are_removed_in_reverse_order() -> None:
    learner, first = ICaRL(**FLAT, memory_size=6), batch_of([0] * 20)
    learner.add_labels(first.labels)
    learner.end(view_of(first))
    chosen = learner.buffer.of(0).images
    learner.end(view_of(batch_of([1, 2] * 20, number=1), index=1))
    np.testing.assert_array_equal(learner.buffer.of(0).images, chosen[:2])


def test_prediction_is_the_nearest_mean_of_exemplars() -> None:
    learner, task, test = (
        ICaRL(**FLAT, memory_size=9),
        batch_of([4, 5, 6] * 20),
        batch_of([0] * 50, number=9),
    )
    learner.add_labels(task.labels)
    learner.end(view_of(task))
    means = np.stack([unit_features(learner.buffer.of(label)).mean(0) for label in (4, 5, 6)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    distances = np.linalg.norm(unit_features(test)[:, None] - means, axis=2)
    expected = np.array([4, 5, 6])[distances.argmin(1)]
    assert len(set(expected.tolist())) > 1
    np.testing.assert_array_equal(learner.predict(test.images), expected)


def test_class_means_follow_the_network() -> None:
    from everlearn.streams import sprites

    stream = sprites(image_size=16, classes_per_task=3, factor_values=2)
    learner = ICaRL.tiny()
    for task in stream.take(2):
        learner.begin(task.for_learner())
        learner.learn(task.train[:32])
        learner.predict(task.test.images)
        learner.end(task.for_learner())
    learner.learn(stream.task(2).train[:32])
    kept = learner.stored_means.means()
    learner.stored_means.clear()
    np.testing.assert_array_equal(learner.stored_means.means(), kept)
    mean = learner.stored_means.unit_features(learner.buffer.of(learner.buffer.labels()[0]).images).mean(0)
    np.testing.assert_allclose(kept[0], mean / np.linalg.norm(mean))


def test_an_epoch_over_the_task_is_one_over_the_exemplars() -> None:
    learner, first, second = ICaRL(**FLAT, memory_size=10), batch_of([0] * 40), batch_of([1] * 40, number=1)
    learner.add_labels(first.labels)
    learner.end(view_of(first))
    learner.begin(view_of(second, index=1))
    before = learner.flops
    for batch in second.batches(8):
        learner.learn(batch)
    teacher = 1 + 1 / 3
    assert learner.flops - before == pytest.approx((40 + 10) * teacher * 3 * learner.forward_flops)
