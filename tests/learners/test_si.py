import numpy as np
import torch

from everlearn.learners.si import SI

from .toy import FLAT, batch_of, gradients, head_of, set_head, some_head, view_of


def rows(learner: SI, tensors: list[torch.Tensor]) -> np.ndarray:
    _gain, weight, bias = tensors
    return torch.cat([weight, bias[:, None]], 1)[: len(learner.head.labels)].double().numpy()


def fixed_gain(learner: SI) -> None:
    """Keep the body out of it, so that the head is softmax regression."""
    with torch.no_grad():
        learner.body.gain.fill_(1.0)  # type: ignore[operator, union-attr]


def test_the_path_is_what_each_weight_did_for_the_loss() -> None:
    learner, batch, columns = SI(**FLAT, damping=0.01), batch_of([0, 1, 1]), [0, 1, 1]
    learner.admit(batch.labels)
    set_head(learner, some_head(2))
    learner.anchor.move(learner.weights(), learner.anchor.importances)
    path, start = np.zeros((2, 5)), some_head(2)
    for _ in range(3):
        slope = gradients(head_of(learner), batch, columns).mean(0)
        path += 0.5 * slope**2  # a step of plain descent is -0.5 * slope
        learner.learn(batch)
        fixed_gain(learner)
    np.testing.assert_allclose(rows(learner, learner.paths), path, rtol=1e-4, atol=1e-7)
    end = head_of(learner)
    learner.end(view_of(batch))
    expected = path / (np.square(end - start) + 0.01)
    np.testing.assert_allclose(rows(learner, learner.anchor.importances), expected, rtol=1e-4, atol=1e-6)
    assert not rows(learner, learner.paths).any()


def test_the_pull_of_the_penalty_is_not_the_task_s_doing() -> None:
    learner, batch = SI(**FLAT, strength=3.0), batch_of([0, 1, 1])
    learner.learn(batch)
    learner.end(view_of(batch))
    set_head(learner, some_head(2))
    fixed_gain(learner)
    before, new = head_of(learner), batch_of([1, 0, 0], number=1)
    learner.learn(new)
    change = head_of(learner) - before
    slope = gradients(before, new, [1, 0, 0]).mean(0)
    np.testing.assert_allclose(rows(learner, learner.paths), -slope * change, rtol=1e-3, atol=1e-6)
    assert not np.allclose(change, -0.5 * slope, atol=1e-3)  # the penalty did pull


def test_with_adam_the_real_changes_count() -> None:
    learner, batch = SI(**{**FLAT, "optimizer": "adam"}), batch_of([0, 1, 1])
    learner.admit(batch.labels)
    set_head(learner, some_head(2))
    slope = gradients(some_head(2), batch, [0, 1, 1]).mean(0)
    learner.learn(batch)
    change = head_of(learner) - some_head(2)
    np.testing.assert_allclose(rows(learner, learner.paths), -slope * change, rtol=1e-4, atol=1e-7)


def test_what_raised_the_loss_does_not_count_against_a_weight() -> None:
    learner = SI(**FLAT)
    learner.admit(np.array([0, 1]))
    learner.paths = [torch.full_like(path, -5.0) for path in learner.paths]
    learner.end(view_of(batch_of([0, 1])))
    assert not any(importance.any() for importance in learner.anchor.importances)


def test_paths_grow_with_the_head() -> None:
    learner = SI(**FLAT)
    learner.learn(batch_of([0, 1]))
    before = learner.paths[1][:2].clone()
    learner.admit(np.arange(40))
    learner.learn(batch_of([20, 21]))
    assert learner.paths[1].shape == (64, 4)
    assert (learner.paths[1][:2] >= before).all()
    learner.end(view_of(batch_of([20, 21])))
    assert learner.anchor.importances[1].shape == (64, 4)
