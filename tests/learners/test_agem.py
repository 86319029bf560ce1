import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from everlearn.learners.agem import AGEM, project
from everlearn.learners.classifier import Classifier
from everlearn.learners.naive import Naive

from .toy import FLAT, batch_of, cross_entropy, gradients, head_of, set_head, some_head, view_of

NUMBERS = st.lists(st.floats(-10, 10, width=32), min_size=6, max_size=6)


def split(numbers: list[float]) -> list[torch.Tensor]:
    return [torch.tensor(numbers[:2]), torch.tensor(numbers[2:]).reshape(2, 2)]


def flat(tensors: list[torch.Tensor]) -> np.ndarray:
    return np.concatenate([tensor.double().numpy().ravel() for tensor in tensors])


@given(NUMBERS, NUMBERS)
def test_projection_never_opposes_the_reference_gradient(new: list[float], old: list[float]) -> None:
    result = flat(list(project(split(new), split(old))))
    g, r = np.array(new), np.array(old)
    if g @ r >= 0:
        np.testing.assert_array_equal(result, g.astype(np.float32))
    else:
        assert result @ r >= -1e-3
        across = g - (g @ r) / (r @ r) * r
        np.testing.assert_allclose(result, across, atol=1e-3)


def put_head(learner: Classifier) -> None:
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))


def test_step_that_would_increase_the_replay_loss_is_projected() -> None:
    old = batch_of([0, 1])
    new = type(old)(old.images, old.labels[::-1].copy())
    learner = AGEM(**{**FLAT, "learning_rate": 1e-3})
    learner.buffer.add(old)
    put_head(learner)
    g, r = gradients(some_head(2), new, [1, 0]).mean(0), gradients(some_head(2), old, [0, 1]).mean(0)
    assert (g * r).sum() < 0
    before = cross_entropy(some_head(2), old, [0, 1])
    learner.learn(new)
    projected = cross_entropy(head_of(learner), old, [0, 1])
    naive = Naive(**{**FLAT, "learning_rate": 1e-3})
    put_head(naive)
    naive.learn(new)
    assert projected - before < 0.05 * (cross_entropy(head_of(naive), old, [0, 1]) - before)


def test_step_that_agrees_with_the_reference_is_unchanged() -> None:
    batch, learner, naive = batch_of([0, 1, 1]), AGEM(**FLAT), Naive(**FLAT)
    learner.buffer.add(batch)
    for each in (learner, naive):
        put_head(each)
        each.learn(batch)
    np.testing.assert_allclose(head_of(learner), head_of(naive), atol=1e-7)


def test_images_are_stored_when_their_task_ends() -> None:
    learner = AGEM(**FLAT, memory_size=4)
    learner.learn(batch_of([0, 1]))
    assert len(learner.buffer) == 0
    learner.end(view_of(batch_of([0, 1] * 10)))
    assert learner.buffer.labels() == [0, 1]
    learner.learn(batch_of([2]))
    assert learner.buffer.labels() == [0, 1]
    learner.end(view_of(batch_of([2, 3] * 10)))
    assert [learner.buffer.count(label) for label in range(4)] == [1, 1, 1, 1]


def test_flops_of_the_reference_gradient_are_counted() -> None:
    learner = AGEM(image_shape=(2, 2), backbone="mlp", replay_size=2)
    learner.buffer.add(batch_of([0, 1] * 10))
    learner.learn(batch_of([0, 1, 1]))
    assert learner.flops == (3 + 2) * 3 * learner.forward_flops
