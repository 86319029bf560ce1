import numpy as np
import pytest

from everlearn.learners.er import ER
from everlearn.learners.wa import WA

from .toy import (
    FLAT,
    batch_of,
    cross_entropy,
    head_of,
    logits_of,
    set_head,
    some_head,
    view_of,
)


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values)
    return np.asarray(powers / powers.sum(1, keepdims=True))


def test_losses_are_weighted_by_the_share_of_old_labels() -> None:
    learner, new = WA(**FLAT, temperature=2.0), batch_of([2, 2, 0])
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))
    learner.end(view_of(batch_of([0, 1])))
    learner.add_labels(np.array([2]))
    moved = some_head(3, number=1)
    set_head(learner, moved)
    old, now = (softmax(logits_of(head, new) / 2) for head in (some_head(2), moved[:2]))
    distillation = (old * np.log(old / now)).sum(1).mean()
    expected = cross_entropy(moved, new, [2, 2, 0]) / 3 + distillation * 2 / 3
    assert learner.learn(new)["loss"] == pytest.approx(expected, rel=1e-5)


def test_new_weights_get_the_length_of_old_ones() -> None:
    learner = WA(**FLAT)
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))
    learner.end(view_of(batch_of([0, 1])))
    np.testing.assert_allclose(head_of(learner), some_head(2), rtol=1e-6)  # the first task has no old labels
    learner.add_labels(np.array([2, 3]))
    rows = np.zeros((4, 5))
    rows[:, 0], rows[:, 4] = [3, -5, 1, 7], 9  # lengths 3, 5 and 1, 7: means 4 and 4 ...
    rows[2:, 0] *= 2  # ... and 8
    set_head(learner, rows)
    learner.end(view_of(batch_of([2, 3]), index=1))
    np.testing.assert_allclose(head_of(learner)[:, 0], [3, -5, 1, 7], rtol=1e-6)
    np.testing.assert_array_equal(head_of(learner)[:, 4], 9)  # no bias


def test_first_task_is_that_of_experience_replay() -> None:
    learner, replay = WA(**FLAT), ER(**FLAT)
    for number in range(3):
        assert learner.learn(batch_of([0, 1], number)) == replay.learn(batch_of([0, 1], number))
