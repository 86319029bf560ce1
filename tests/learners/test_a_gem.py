import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from everlearn.learners.a_gem import AGEM, projected
from everlearn.learners.base.classifier import Classifier
from everlearn.learners.naive import Naive

from .toy import FLAT, batch_of, cross_entropy, head_of, set_head, slopes, some_head, view_of

NUMBERS = st.lists(st.floats(-10, 10, width=32), min_size=6, max_size=6)


def split(numbers: list[float]) -> list[torch.Tensor]:
    return [torch.tensor(numbers[:2]), torch.tensor(numbers[2:]).reshape(2, 2)]


def flat(tensors: list[torch.Tensor]) -> np.ndarray:
    return np.concatenate([tensor.double().numpy().ravel() for tensor in tensors])


@given(NUMBERS, NUMBERS)
def test_what_remains_never_goes_against_the_past(new: list[float], old: list[float]) -> None:
    result = flat(list(projected(split(new), split(old))))
    g, r = np.array(new), np.array(old)
    if g @ r >= 0:
        np.testing.assert_array_equal(result, g.astype(np.float32))
    else:
        assert result @ r >= -1e-3
        across = g - (g @ r) / (r @ r) * r
        np.testing.assert_allclose(result, across, atol=1e-3)


def put_head(learner: Classifier) -> None:
    learner.admit(np.array([0, 1]))
    set_head(learner, some_head(2))


def test_a_step_that_would_hurt_is_turned() -> None:
    old = batch_of([0, 1])
    new = type(old)(old.images, old.labels[::-1].copy())
    learner = AGEM(**{**FLAT, "learning_rate": 1e-3})
    learner.memory.add(old)
    put_head(learner)
    g, r = slopes(some_head(2), new, [1, 0]).mean(0), slopes(some_head(2), old, [0, 1]).mean(0)
    assert (g * r).sum() < 0
    before = cross_entropy(some_head(2), old, [0, 1])
    learner.learn(new)
    turned = cross_entropy(head_of(learner), old, [0, 1])
    naive = Naive(**{**FLAT, "learning_rate": 1e-3})
    put_head(naive)
    naive.learn(new)
    assert turned - before < 0.05 * (cross_entropy(head_of(naive), old, [0, 1]) - before)


def test_a_step_that_helps_is_taken_as_it_is() -> None:
    batch, learner, naive = batch_of([0, 1, 1]), AGEM(**FLAT), Naive(**FLAT)
    learner.memory.add(batch)
    for each in (learner, naive):
        put_head(each)
        each.learn(batch)
    np.testing.assert_allclose(head_of(learner), head_of(naive), atol=1e-7)


def test_only_tasks_that_ended_are_remembered() -> None:
    learner = AGEM(**FLAT, memory_size=4)
    learner.learn(batch_of([0, 1]))
    assert len(learner.memory) == 0
    learner.end(view_of(batch_of([0, 1] * 10)))
    assert learner.memory.labels() == [0, 1]
    learner.learn(batch_of([2]))
    assert learner.memory.labels() == [0, 1]
    learner.end(view_of(batch_of([2, 3] * 10)))
    assert [learner.memory.count(label) for label in range(4)] == [1, 1, 1, 1]


def test_the_reference_is_paid_for() -> None:
    learner = AGEM(image_shape=(2, 2), backbone="mlp", replay_size=2)
    learner.memory.add(batch_of([0, 1] * 10))
    learner.learn(batch_of([0, 1, 1]))
    assert learner.flops == (3 + 2) * learner._flops_per_image
