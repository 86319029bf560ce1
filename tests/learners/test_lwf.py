import math

import numpy as np
import pytest
import torch

from everlearn.learners.lwf import LwF, distance

from .toy import FLAT, batch_of, cross_entropy, outputs, set_head, some_head, view_of


def test_a_distance_worked_by_hand() -> None:
    # softened by 2: the old network says 3/4 and 1/4, the new one 1/2 and 1/2
    wanted, said = torch.tensor([[2 * math.log(3), 0.0]]), torch.zeros(1, 2)
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert float(distance(said, wanted, 2.0)) == pytest.approx(expected, rel=1e-6)
    assert float(distance(wanted, wanted, 2.0)) == pytest.approx(0.0, abs=1e-7)


def softened(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values / 2.0)
    return np.asarray(powers / powers.sum(1, keepdims=True))


def test_the_loss_compares_old_labels_only() -> None:
    learner, new = LwF(**FLAT, alpha=0.7), batch_of([2, 2, 3])
    learner.admit(np.array([0, 1]))
    set_head(learner, some_head(2))
    learner.end(view_of(batch_of([0, 1])))
    learner.admit(new.labels)
    moved = some_head(4, number=1)
    set_head(learner, moved)
    old, now = softened(outputs(some_head(2), new)), softened(outputs(moved[:2], new))
    expected = cross_entropy(moved, new, [2, 2, 3]) + 0.7 * (old * np.log(old / now)).sum(1).mean()
    assert float(learner.loss(*learner.tensors(new)).detach()) == pytest.approx(expected, rel=1e-5)


def test_the_first_task_is_learned_freely() -> None:
    learner, batch = LwF(**FLAT), batch_of([0, 1, 1])
    learner.admit(batch.labels)
    set_head(learner, some_head(2))
    assert learner.learn(batch)["loss"] == pytest.approx(cross_entropy(some_head(2), batch, [0, 1, 1]))


def test_the_old_network_costs_bytes_and_work() -> None:
    learner, batch = LwF(image_shape=(2, 2), backbone="mlp"), batch_of([0, 1])
    alone = learner.footprint().weights
    learner.learn(batch)
    first = learner.flops
    learner.end(view_of(batch))
    assert learner.footprint().weights == 2 * alone
    learner.learn(batch)
    assert learner.flops - first == pytest.approx(first * 4 / 3)
