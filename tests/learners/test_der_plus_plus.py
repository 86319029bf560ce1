import numpy as np
import pytest

from everlearn.learners.der_plus_plus import DERPlusPlus
from everlearn.memory import Reservoir

from .toy import FLAT, batch_of, cross_entropy, outputs, set_head, some_head


def test_the_loss_adds_labels_of_a_second_sample() -> None:
    old, new = batch_of([0, 1] * 20), batch_of([1, 0, 0], number=1)
    learner, twin = DERPlusPlus(**FLAT, alpha=0.4, beta=0.6, replay_size=5), Reservoir(capacity=2000)
    learner.admit(np.array([0, 1]))
    moved, then = some_head(2, number=1), outputs(some_head(2), old).astype(np.float32)
    for memory in (learner.memory, twin):
        memory.add(old, outputs=then)
    set_head(learner, moved)
    first, second = twin.sample(5), twin.sample(5)
    assert (first.rows != second.rows).any()
    drift = np.square(outputs(moved, first) - first.extra["outputs"]).mean()
    expected = (
        cross_entropy(moved, new, [1, 0, 0])
        + 0.4 * drift
        + 0.6 * cross_entropy(moved, second, second.labels.tolist())
    )
    assert float(learner.loss(*learner.tensors(new)).detach()) == pytest.approx(expected, rel=1e-5)


def test_both_samples_are_paid_for() -> None:
    learner = DERPlusPlus(image_shape=(2, 2), backbone="mlp", replay_size=2)
    learner.learn(batch_of([0, 1, 1]))
    before = learner.flops
    learner.learn(batch_of([0, 1, 1]))
    assert learner.flops - before == (3 + 2 + 2) * learner._flops_per_image
