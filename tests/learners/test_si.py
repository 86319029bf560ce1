import numpy as np
import torch

from everlearn.learners.si import SI

from .toy import FLAT, batch_of, gradients, head_of, set_head, some_head, view_of


def rows(learner: SI, tensors: list[torch.Tensor]) -> np.ndarray:
    _gain, weight, bias = tensors
    return torch.cat([weight, bias[:, None]], 1)[: len(learner.net.head.labels)].double().numpy()


def fixed_gain(learner: SI) -> None:
    """Keep the backbone fixed, so that the head is softmax regression."""
    with torch.no_grad():
        learner.net.backbone.gain.fill_(1.0)  # type: ignore[operator, union-attr]


def test_path_integral_is_the_contribution_to_the_loss() -> None:
    learner, batch, targets = SI(**FLAT, damping=0.01), batch_of([0, 1, 1]), [0, 1, 1]
    learner.add_labels(batch.labels)
    set_head(learner, some_head(2))
    learner.penalty.set_reference(learner.parameters(), learner.penalty.importance)
    path, start = np.zeros((2, 5)), some_head(2)
    for _ in range(3):
        gradient = gradients(head_of(learner), batch, targets).mean(0)
        path += 0.5 * gradient**2  # a step of plain SGD is -0.5 * gradient
        learner.learn(batch)
        fixed_gain(learner)
    np.testing.assert_allclose(rows(learner, learner.penalty.path_integral), path, rtol=1e-4, atol=1e-7)
    end = head_of(learner)
    learner.end(view_of(batch))
    expected = path / (np.square(end - start) + 0.01)
    np.testing.assert_allclose(rows(learner, learner.penalty.importance), expected, rtol=1e-4, atol=1e-6)
    assert not rows(learner, learner.penalty.path_integral).any()


def test_path_integral_excludes_the_gradient_of_the_penalty() -> None:
    learner, batch = SI(**FLAT, strength=3.0), batch_of([0, 1, 1])
    learner.learn(batch)
    learner.end(view_of(batch))
    set_head(learner, some_head(2))
    fixed_gain(learner)
    before, new = head_of(learner), batch_of([1, 0, 0], number=1)
    learner.learn(new)
    displacement = head_of(learner) - before
    gradient = gradients(before, new, [1, 0, 0]).mean(0)
    np.testing.assert_allclose(
        rows(learner, learner.penalty.path_integral), -gradient * displacement, rtol=1e-3, atol=1e-6
    )
    assert not np.allclose(displacement, -0.5 * gradient, atol=1e-3)  # the penalty did pull


def test_path_integral_uses_the_displacements_of_adam() -> None:
    learner, batch = SI(**{**FLAT, "optimizer": "adam"}), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    set_head(learner, some_head(2))
    gradient = gradients(some_head(2), batch, [0, 1, 1]).mean(0)
    learner.learn(batch)
    displacement = head_of(learner) - some_head(2)
    np.testing.assert_allclose(
        rows(learner, learner.penalty.path_integral), -gradient * displacement, rtol=1e-4, atol=1e-7
    )


def test_negative_path_integrals_add_no_importance() -> None:
    learner = SI(**FLAT)
    learner.add_labels(np.array([0, 1]))
    learner.penalty.path_integral = [torch.full_like(path, -5.0) for path in learner.penalty.path_integral]
    learner.end(view_of(batch_of([0, 1])))
    assert not any(importance.any() for importance in learner.penalty.importance)


def test_path_integrals_grow_with_the_head() -> None:
    learner = SI(**FLAT)
    learner.learn(batch_of([0, 1]))
    before = learner.penalty.path_integral[1][:2].clone()
    learner.add_labels(np.arange(40))
    learner.learn(batch_of([20, 21]))
    assert learner.penalty.path_integral[1].shape == (64, 4)
    assert (learner.penalty.path_integral[1][:2] >= before).all()
    learner.end(view_of(batch_of([20, 21])))
    assert learner.penalty.importance[1].shape == (64, 4)
