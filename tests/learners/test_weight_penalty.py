import numpy as np
import torch

from everlearn.learners.l2 import L2
from everlearn.learners.stateful import Footprint
from everlearn.learners.weight_penalty import WeightPenalty

from .toy import FLAT, batch_of, set_head, some_head, view_of


def test_new_rows_are_free() -> None:
    penalty = WeightPenalty([torch.zeros(2, 3)])
    penalty.set_reference([torch.ones(2, 3)], [torch.full((2, 3), 2.0)])
    larger = torch.cat([torch.full((2, 3), 1.5), torch.full((4, 3), 99.0)])
    assert float(penalty([larger])) == 6 * 2 * 0.25


def test_reference_is_a_copy() -> None:
    weight = torch.zeros(3)
    penalty = WeightPenalty([weight])
    penalty.set_reference([weight], [torch.ones(3)])
    weight += 2
    assert float(penalty([weight])) == 12


def test_load() -> None:
    penalty, other = WeightPenalty([torch.zeros(3)]), WeightPenalty([torch.zeros(1)])
    penalty.set_reference([torch.arange(3.0)], [torch.arange(3.0) + 1])
    other.load(penalty.state())
    weights = [torch.tensor([7.0, 8.0, 9.0])]
    assert float(other(weights)) == float(penalty(weights)) == 49 + 2 * 49 + 3 * 49
    assert other.footprint() == penalty.footprint() == Footprint(weights=2 * 3 * 4)


def test_importance_grows_with_the_head() -> None:
    learner = L2(**FLAT, strength=1.0)
    learner.learn(batch_of([0, 1]))
    learner.end(view_of(batch_of([0, 1])))
    learner.learn(batch_of(list(range(40))))
    parameters = learner.parameters()
    learner.penalty.add_importance(parameters, [torch.ones_like(each) for each in parameters], decay=0.5)
    head = learner.penalty.importance[1].detach().numpy()
    assert head.shape == (64, 4)
    np.testing.assert_array_equal(head[:2], np.full((2, 4), 1.5))
    np.testing.assert_array_equal(head[2:], np.ones((62, 4)))


def test_training_returns_to_the_reference() -> None:
    learner = L2(**{**FLAT, "learning_rate": 0.1}, strength=1.0)
    batch = batch_of([0, 1])
    learner.add_labels(batch.labels)
    learner.end(view_of(batch))
    set_head(learner, some_head(2))
    far = float(learner.penalty(learner.parameters()).detach())
    for _ in range(50):
        learner.learn(batch)
    assert float(learner.penalty(learner.parameters()).detach()) < 0.1 * far
