import numpy as np
import pytest

from everlearn.learners.er import ER
from everlearn.learners.naive import Naive
from everlearn.streams import Batch

from .toy import FLAT, batch_of, cross_entropy, gradients, head_of, set_head, some_head


def test_loss_is_cross_entropy_over_new_and_replayed_images() -> None:
    learner, new = ER(**FLAT, replay_size=2), batch_of([1, 1, 1])
    learner.buffer.add(batch_of([0, 0, 0, 0], number=1))
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))
    old = ER(**FLAT, replay_size=2).buffer
    old.add(batch_of([0, 0, 0, 0], number=1))
    drawn = old.sample(2)
    union, targets = Batch.concatenate([new, Batch(drawn.images, drawn.labels)]), [1, 1, 1, 0, 0]
    assert learner.learn(new)["loss"] == pytest.approx(cross_entropy(some_head(2), union, targets), rel=1e-6)
    expected = some_head(2) - 0.5 * gradients(some_head(2), union, targets).mean(0)
    np.testing.assert_allclose(head_of(learner), expected, atol=1e-6)


def test_batch_is_not_replayed_with_itself() -> None:
    learner, naive, batch = ER(**FLAT), Naive(**FLAT), batch_of([0, 1])
    assert learner.learn(batch) == naive.learn(batch)
    assert len(learner.buffer) == 2


def test_rare_class_keeps_its_images_in_a_class_balanced_buffer() -> None:
    fair, balanced = (ER(**FLAT, memory_size=10, policy=p) for p in ("reservoir", "class-balanced"))
    for learner in (fair, balanced):
        learner.learn(batch_of([0] * 5))
        for number in range(20):
            learner.learn(batch_of([1] * 50, number))
    assert balanced.buffer.count(0) == 5
    assert fair.buffer.count(0) < 5


def test_factors_are_not_stored() -> None:
    from everlearn.streams import sprites

    learner = ER.tiny()
    learner.learn(sprites(image_size=16, factor_values=2).task(0).train[:8])
    assert learner.buffer.everything().factors is None
