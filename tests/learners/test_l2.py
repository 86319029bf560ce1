import numpy as np
import pytest

from everlearn.learners.l2 import L2

from .toy import FLAT, batch_of, cross_entropy, head_of, set_head, some_head, view_of


def test_penalty_is_uniform_and_zero_for_new_labels() -> None:
    learner, batch = L2(**FLAT, strength=0.3), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    learner.end(view_of(batch))
    learner.add_labels(np.array([0, 1, 2]))
    moved = some_head(3)
    set_head(learner, moved)
    expected = cross_entropy(moved, batch, [0, 1, 1]) + 0.3 * np.square(moved[:2]).sum()
    assert float(learner.loss(*learner.tensors(batch)).detach()) == pytest.approx(expected, rel=1e-5)


def test_no_penalty_in_the_first_task() -> None:
    learner, batch = L2(**FLAT, strength=100.0), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    set_head(learner, some_head(2))
    assert learner.learn(batch)["loss"] == pytest.approx(cross_entropy(some_head(2), batch, [0, 1, 1]))
    assert not np.allclose(head_of(learner), some_head(2))
