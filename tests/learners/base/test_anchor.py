import numpy as np
import torch

from everlearn.learners.l2 import L2
from everlearn.learners.old_base.anchor import Anchor
from tests.learners.toy import FLAT, batch_of, set_head, some_head, view_of


def test_rows_that_came_later_are_free() -> None:
    anchor = Anchor([torch.zeros(2, 3)])
    anchor.move([torch.ones(2, 3)], [torch.full((2, 3), 2.0)])
    larger = torch.cat([torch.full((2, 3), 1.5), torch.full((4, 3), 99.0)])
    assert float(anchor.penalty([larger])) == 6 * 2 * 0.25


def test_an_anchor_is_not_dragged_along() -> None:
    weight = torch.zeros(3)
    anchor = Anchor([weight])
    anchor.move([weight], [torch.ones(3)])
    weight += 2
    assert float(anchor.penalty([weight])) == 12


def test_a_state_is_all_there_is() -> None:
    anchor, other = Anchor([torch.zeros(3)]), Anchor([torch.zeros(1)])
    anchor.move([torch.arange(3.0)], [torch.arange(3.0) + 1])
    other.load(anchor.state())
    weights = [torch.tensor([7.0, 8.0, 9.0])]
    assert float(other.penalty(weights)) == float(anchor.penalty(weights)) == 49 + 2 * 49 + 3 * 49
    assert other.nbytes == anchor.nbytes == 2 * 3 * 4


def test_importances_grow_with_the_head() -> None:
    learner = L2(**FLAT, strength=1.0)
    learner.learn(batch_of([0, 1]))
    learner.end(view_of(batch_of([0, 1])))
    learner.learn(batch_of(list(range(40))))
    learner.accumulate([torch.ones_like(weight) for weight in learner.weights()], decay=0.5)
    head = learner.anchor.importances[1].numpy()
    assert head.shape == (64, 4)
    np.testing.assert_array_equal(head[:2], np.full((2, 4), 1.5))
    np.testing.assert_array_equal(head[2:], np.ones((62, 4)))


def test_the_pull_leads_back() -> None:
    learner = L2(**{**FLAT, "learning_rate": 0.1}, strength=1.0)
    batch = batch_of([0, 1])
    learner.admit(batch.labels)
    learner.end(view_of(batch))
    set_head(learner, some_head(2))
    far = float(learner.anchor.penalty(learner.weights()).detach())
    for _ in range(50):
        learner.learn(batch)
    assert float(learner.anchor.penalty(learner.weights()).detach()) < 0.1 * far
