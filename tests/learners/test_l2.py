import numpy as np
import pytest

from everlearn.learners.l2 import L2

from .toy import FLAT, batch_of, cross_entropy, head_of, set_head, some_head, view_of


def test_every_weight_matters_alike_and_new_outputs_do_not() -> None:
    learner, batch = L2(**FLAT, strength=0.3), batch_of([0, 1, 1])
    learner.admit(batch.labels)
    learner.end(view_of(batch))
    learner.admit(np.array([0, 1, 2]))
    moved = some_head(3)
    set_head(learner, moved)
    expected = cross_entropy(moved, batch, [0, 1, 1]) + 0.3 * np.square(moved[:2]).sum()
    assert float(learner.loss(*learner.tensors(batch)).detach()) == pytest.approx(expected, rel=1e-5)


def test_without_a_task_before_it_is_naive() -> None:
    learner, batch = L2(**FLAT, strength=100.0), batch_of([0, 1, 1])
    learner.admit(batch.labels)
    set_head(learner, some_head(2))
    assert learner.learn(batch)["loss"] == pytest.approx(cross_entropy(some_head(2), batch, [0, 1, 1]))
    assert not np.allclose(head_of(learner), some_head(2))
