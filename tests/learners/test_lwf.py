import math
from typing import Any

import numpy as np
import pytest
import torch

from everlearn.learners.lwf import LwF, distillation_loss

from .toy import FLAT, batch_of, cross_entropy, logits_of, set_head, some_head, view_of


def test_distillation_loss_by_hand() -> None:
    # softened by 2: the teacher has 3/4 and 1/4, the student 1/2 and 1/2
    teacher, student = torch.tensor([[2 * math.log(3), 0.0]]), torch.zeros(1, 2)
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert float(distillation_loss(student, teacher, 2.0)) == pytest.approx(expected, rel=1e-6)
    assert float(distillation_loss(teacher, teacher, 2.0)) == pytest.approx(0.0, abs=1e-7)


def test_soft_targets_of_unknown_labels_are_zero() -> None:
    # softened by 2: the teacher has 3/4 and 1/4; the student has 1/2, 1/4 and 1/4 for a third label
    teacher, student = torch.tensor([[2 * math.log(3), 0.0]]), torch.tensor([[2 * math.log(2), 0.0, 0.0]])
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.25)
    assert float(distillation_loss(student, teacher, 2.0)) == pytest.approx(expected, rel=1e-6)


def softened(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values / 2.0)
    return np.asarray(powers / powers.sum(1, keepdims=True))


NEW = batch_of([2, 2, 3])
MOVED = some_head(5, number=1)


def loss_after_moving(**settings: Any) -> float:
    """Labels 0 and 1 were learned with one head; now there are 2, 3 and 4 as well, and another head."""
    learner = LwF(**FLAT, alpha=0.7, **settings)
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))
    learner.end(view_of(batch_of([0, 1])))
    learner.add_labels(np.array([2, 3, 4]))
    set_head(learner, MOVED)
    return float(learner.loss(*learner.tensors(NEW)).detach())


def divergence(now: np.ndarray) -> float:
    old = softened(logits_of(some_head(2), NEW))
    return float((old * np.log(old / now[:, :2])).sum(1).mean())


def test_distillation_is_over_old_labels() -> None:
    expected = cross_entropy(MOVED, NEW, [2, 2, 3]) + 0.7 * divergence(softened(logits_of(MOVED[:2], NEW)))
    assert loss_after_moving() == pytest.approx(expected, rel=1e-5)


def test_new_labels_can_have_zero_soft_targets() -> None:
    expected = cross_entropy(MOVED, NEW, [2, 2, 3]) + 0.7 * divergence(softened(logits_of(MOVED, NEW)))
    assert loss_after_moving(new_labels="zero") == pytest.approx(expected, rel=1e-5)


def test_losses_can_be_weighted_by_labels() -> None:
    new, old = cross_entropy(MOVED, NEW, [2, 2, 3]), divergence(softened(logits_of(MOVED[:2], NEW)))
    assert loss_after_moving(weighting="by-labels") == pytest.approx(
        3 / 5 * new + 2 / 5 * 0.7 * old, rel=1e-5
    )


def test_first_task_has_no_distillation() -> None:
    learner, batch = LwF(**FLAT), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    set_head(learner, some_head(2))
    assert learner.learn(batch)["loss"] == pytest.approx(cross_entropy(some_head(2), batch, [0, 1, 1]))


def test_footprint_and_flops_include_the_teacher() -> None:
    learner, batch = LwF(image_shape=(2, 2), backbone="mlp", average=0.0), batch_of([0, 1])
    alone = learner.footprint().weights
    learner.learn(batch)
    first = learner.flops
    learner.end(view_of(batch))
    assert learner.footprint().weights == 2 * alone
    learner.learn(batch)
    assert learner.flops - first == pytest.approx(first * 4 / 3)
