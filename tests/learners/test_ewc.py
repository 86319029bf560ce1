import numpy as np
import pytest
import torch

from everlearn.learners.ewc import EWC

from .toy import FLAT, batch_of, cross_entropy, gradients, head_of, set_head, some_head, view_of


def importance(learner: EWC) -> np.ndarray:
    """Of weights and bias of the head, (n_labels, 5)."""
    _gain, weight, bias = learner.penalty.importance
    return torch.cat([weight, bias[:, None]], 1)[: len(learner.net.head.labels)].numpy()


def with_head(labels: list[int], **settings: float) -> EWC:
    learner = EWC(**FLAT, **settings)  # type: ignore[arg-type]
    learner.add_labels(np.array(labels))
    set_head(learner, some_head(len(labels)))
    return learner


def test_fisher_is_the_mean_of_squared_gradients_of_single_images() -> None:
    batch = batch_of([0, 1, 1, 2])
    learner = with_head([0, 1, 2])
    learner.end(view_of(batch))
    each = gradients(some_head(3), batch, [0, 1, 1, 2])
    np.testing.assert_allclose(importance(learner), np.square(each).mean(0), rtol=1e-5)
    assert not np.allclose(importance(learner), np.square(each.mean(0)), rtol=0.1)


def test_importance_decays() -> None:
    batch = batch_of([0, 1, 1, 2])
    learner = with_head([0, 1, 2], decay=0.25)
    for index in range(3):
        learner.end(view_of(batch, index))
    once = np.square(gradients(some_head(3), batch, [0, 1, 1, 2])).mean(0)
    np.testing.assert_allclose(importance(learner), (1 + 0.25 + 0.25**2) * once, rtol=1e-5)


def test_penalty_weights_squared_distances_by_importance() -> None:
    batch = batch_of([0, 1, 1, 2])
    learner = with_head([0, 1, 2], strength=7.0)
    learner.end(view_of(batch))
    moved = some_head(3, number=1)
    set_head(learner, moved)
    penalty = 7.0 * (importance(learner) * np.square(moved - some_head(3))).sum()
    expected = cross_entropy(moved, batch, [0, 1, 1, 2]) + penalty
    assert float(learner.loss(*learner.tensors(batch)).detach()) == pytest.approx(expected, rel=1e-5)


def test_logits_of_new_labels_are_free() -> None:
    learner = with_head([0, 1], strength=7.0)
    learner.end(view_of(batch_of([0, 1])))
    learner.add_labels(np.arange(40))
    head = head_of(learner)
    head[2:] = 5.0
    set_head(learner, head)
    assert float(learner.penalty(learner.parameters()).detach()) == 0


def test_fisher_uses_n_fisher_images() -> None:
    batch = batch_of([0, 1] * 50)
    learner = with_head([0, 1], n_fisher_images=3)
    before = learner.flops
    learner.end(view_of(batch))
    some = batch.shuffled(0, 0)[:3]
    expected = np.square(gradients(some_head(2), some, some.labels.tolist())).mean(0)
    np.testing.assert_allclose(importance(learner), expected, rtol=1e-5)
    assert learner.flops - before == 3 * 3 * learner.forward_flops


def test_task_without_images_adds_no_importance() -> None:
    learner = with_head([0, 1])
    learner.end(view_of(batch_of([0, 1])[:0]))
    assert not importance(learner).any()
