import numpy as np
import pytest

from everlearn.learners.icarl import ICaRL
from everlearn.memory import herd
from everlearn.streams import Batch

from .toy import FLAT, batch_of, outputs, pixels, set_head, some_head, view_of


def directions(batch: Batch) -> np.ndarray:
    seen = pixels(batch)
    return np.asarray(seen / np.linalg.norm(seen, axis=1, keepdims=True))


def sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-values)))


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_the_loss_asks_yes_or_no_for_every_label(temperature: float) -> None:
    learner, new = ICaRL(**FLAT, temperature=temperature), batch_of([2, 3, 2])
    learner.admit(np.array([0, 1]))
    set_head(learner, some_head(2))
    learner.end(view_of(batch_of([0, 1])))
    learner.admit(new.labels)
    moved = some_head(4, number=1)
    set_head(learner, moved)
    wanted = np.eye(4)[[2, 3, 2]]
    wanted[:, :2] = sigmoid(outputs(some_head(2), new) / temperature)
    said = sigmoid(outputs(moved, new))
    expected = -(wanted * np.log(said) + (1 - wanted) * np.log(1 - said)).sum(1).mean()
    assert float(learner.loss(*learner.tensors(new)).detach()) == pytest.approx(expected, rel=1e-5)


def test_exemplars_follow_the_mean_of_their_class() -> None:
    learner, task = ICaRL(**FLAT, memory_size=6), batch_of([0, 1] * 20)
    learner.admit(task.labels)
    learner.end(view_of(task))
    for label in (0, 1):
        members = task[task.labels == label]
        expected = members.images[herd(directions(members), 3)]
        np.testing.assert_array_equal(learner.memory.of(label).images, expected)


def test_shares_shrink_from_the_tail() -> None:
    learner, first = ICaRL(**FLAT, memory_size=6), batch_of([0] * 20)
    learner.admit(first.labels)
    learner.end(view_of(first))
    chosen = learner.memory.of(0).images
    learner.end(view_of(batch_of([1, 2] * 20, number=1), index=1))
    np.testing.assert_array_equal(learner.memory.of(0).images, chosen[:2])


def test_the_answer_is_the_nearest_mean_of_exemplars() -> None:
    learner, task, asked = (
        ICaRL(**FLAT, memory_size=9),
        batch_of([4, 5, 6] * 20),
        batch_of([0] * 50, number=9),
    )
    learner.admit(task.labels)
    learner.end(view_of(task))
    means = np.stack([directions(learner.memory.of(label)).mean(0) for label in (4, 5, 6)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    distances = np.linalg.norm(directions(asked)[:, None] - means, axis=2)
    expected = np.array([4, 5, 6])[distances.argmin(1)]
    assert len(set(expected.tolist())) > 1
    np.testing.assert_array_equal(learner.predict(asked.images), expected)


def test_means_are_those_of_the_network_as_it_is() -> None:
    from everlearn.streams import sprites

    stream = sprites(image_size=16, classes_per_task=3, factor_values=2)
    learner = ICaRL.tiny()
    for task in stream.take(2):
        learner.begin(task.for_learner())
        learner.learn(task.train[:32])
        learner.predict(task.test.images)
        learner.end(task.for_learner())
    learner.learn(stream.task(2).train[:32])
    kept = learner._class_means()
    learner._means = None
    np.testing.assert_array_equal(learner._class_means(), kept)
    mean = learner.directions(learner.memory.of(learner.memory.labels()[0]).images).mean(0)
    np.testing.assert_allclose(kept[0], mean / np.linalg.norm(mean))


def test_a_pass_over_the_task_is_one_over_the_exemplars() -> None:
    learner, first, second = ICaRL(**FLAT, memory_size=10), batch_of([0] * 40), batch_of([1] * 40, number=1)
    learner.admit(first.labels)
    learner.end(view_of(first))
    learner.begin(view_of(second, index=1))
    before = learner.flops
    for piece in second.pieces(8):
        learner.learn(piece)
    teacher = 1 + 1 / 3
    assert learner.flops - before == pytest.approx((40 + 10) * teacher * learner._flops_per_image)
