import numpy as np
import pytest

from everlearn.learners.der import DER

from .toy import FLAT, batch_of, cross_entropy, outputs, set_head, some_head


def test_images_are_kept_with_what_was_said_before_the_step() -> None:
    learner, batch = DER(**FLAT), batch_of([0, 1, 1])
    learner.admit(batch.labels)
    set_head(learner, some_head(2))
    learner.learn(batch)
    kept = learner.memory.everything()
    np.testing.assert_array_equal(kept.images, batch.images)
    np.testing.assert_allclose(kept.extra["outputs"], outputs(some_head(2), batch), rtol=1e-5)


def test_the_loss_is_cross_entropy_and_mean_squared_drift() -> None:
    learner, old, new = DER(**FLAT, alpha=0.4), batch_of([0, 1]), batch_of([1, 0, 0], number=1)
    learner.admit(old.labels)
    set_head(learner, some_head(2))
    learner.learn(old)
    moved = some_head(2, number=1)
    set_head(learner, moved)
    learner.body.gain.detach().fill_(1.0)  # type: ignore[operator, union-attr]
    drift = np.square(outputs(moved, old) - outputs(some_head(2), old)).mean()
    expected = cross_entropy(moved, new, [1, 0, 0]) + 0.4 * drift
    assert float(learner.loss(*learner.tensors(new)).detach()) == pytest.approx(expected, rel=1e-5)


def test_a_label_unknown_then_is_held_to_the_lowest_output() -> None:
    learner, old = DER(**FLAT), batch_of([0, 1])
    learner.admit(old.labels)
    set_head(learner, some_head(2))
    learner.memory.add(old, outputs=outputs(some_head(2), old).astype(np.float32))
    learner.memory.add(batch_of([2]), outputs=np.zeros((1, 3), np.float32))  # makes room for a third label
    learner.admit(np.array([2, 3]))
    new_rows = some_head(4, number=1)
    new_rows[:2] = some_head(2)
    set_head(learner, new_rows)
    kept = learner.memory.everything()
    drift = float(learner.drift(kept).detach())  # type: ignore[arg-type]
    then = outputs(some_head(2), old)
    wanted = np.zeros((3, 4))
    wanted[:2] = np.hstack([then, np.repeat(then.min(1, keepdims=True), 2, axis=1)])
    now = np.vstack([outputs(new_rows, old), outputs(new_rows, batch_of([2]))])
    assert drift == pytest.approx(np.square(now - wanted).mean(), rel=1e-5)


def test_outputs_count_as_memory() -> None:
    learner = DER(**FLAT)
    learner.learn(batch_of([0, 1, 1]))
    pixels, label, two_outputs = 4, 8, 2 * 4
    assert learner.footprint().memory == 3 * (pixels + label + two_outputs)
