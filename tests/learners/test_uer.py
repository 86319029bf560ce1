import numpy as np
import pytest
import torch

from everlearn.learners.uer import UER

from .toy import FLAT, batch_of, head_of, pixels, probabilities, set_head, some_head

NEW, OLD = batch_of([2, 1, 1]), batch_of([0, 1, 0, 2], number=1)
HEAD = some_head(3) * [1, 1, 1, 1, 0]  # without bias


def learner_with_old_images(temperature: float = 0.5) -> UER:
    learner = UER(**FLAT, replay_size=4, temperature=temperature)
    learner.buffer.add(OLD)
    learner.add_labels(np.array([0, 1, 2]))
    set_head(learner, HEAD)
    return learner


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


def units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_new_images_have_cosines_and_replayed_ones_dot_products() -> None:
    vectors = HEAD[:, :4]
    p = softmax(units(pixels(NEW)) @ units(vectors).T / 0.5)
    q = probabilities(HEAD, OLD)
    expected = {
        "new": -np.log(p[range(3), NEW.labels]).mean(),
        "replayed": -np.log(q[range(4), OLD.labels]).mean(),
    }
    learner = learner_with_old_images()
    losses = learner.learn(NEW)
    assert losses == pytest.approx({"loss": sum(expected.values()), **expected}, rel=1e-5)
    # d cos(w, f) / dw = (f / |f| - cos(w, f) w / |w|) / |w|
    step = (q - np.eye(3)[OLD.labels]).T @ pixels(OLD) / 4
    wrong, f, w = (p - np.eye(3)[NEW.labels]) / 0.5 / 3, units(pixels(NEW)), units(vectors)
    along = (wrong * (f @ w.T)).sum(0)[:, None] * w
    step += (wrong.T @ f - along) / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = head_of(learner)
    np.testing.assert_allclose(found[:, :4], vectors - 0.5 * step, atol=1e-5)
    assert not found[:, 4].any()


def test_new_images_do_not_train_norms() -> None:
    """A gradient at right angles to a vector changes its norm only to second order."""
    learner = UER(**FLAT)
    learner.add_labels(NEW.labels)
    vectors = learner.net.head.weight
    losses = learner.learn(NEW)
    assert "replayed" not in losses
    assert vectors.grad is not None
    before = vectors.detach() + 0.5 * vectors.grad
    along = (vectors.grad * before).sum(1)
    assert vectors.grad.norm() > 0.01
    torch.testing.assert_close(along, torch.zeros(len(along)), atol=1e-5, rtol=0)


def test_predictions_are_those_of_dot_products() -> None:
    learner = learner_with_old_images()
    expected = (pixels(OLD) @ HEAD[:, :4].T).argmax(1)
    np.testing.assert_array_equal(learner.predict(OLD.images), expected)
