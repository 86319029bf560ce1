import numpy as np
import pytest

from everlearn.learners.der import DER, DERPlusPlus
from everlearn.memory import Reservoir

from .toy import FLAT, batch_of, cross_entropy, logits_of, set_head, some_head


def test_images_are_stored_with_the_logits_before_the_step() -> None:
    learner, batch = DER(**FLAT), batch_of([0, 1, 1])
    learner.add_labels(batch.labels)
    set_head(learner, some_head(2))
    learner.learn(batch)
    kept = learner.buffer.everything()
    np.testing.assert_array_equal(kept.images, batch.images)
    np.testing.assert_allclose(kept.extra["logits"], logits_of(some_head(2), batch), rtol=1e-5)


def test_loss_is_cross_entropy_and_error_of_replayed_logits() -> None:
    learner, old, new = DER(**FLAT, alpha=0.4), batch_of([0, 1]), batch_of([1, 0, 0], number=1)
    learner.add_labels(old.labels)
    set_head(learner, some_head(2))
    learner.learn(old)
    moved = some_head(2, number=1)
    set_head(learner, moved)
    learner.net.backbone.gain.detach().fill_(1.0)  # type: ignore[operator, union-attr]
    error = np.square(logits_of(moved, old) - logits_of(some_head(2), old)).mean()
    expected = cross_entropy(moved, new, [1, 0, 0]) + 0.4 * error
    assert learner.learn(new)["loss"] == pytest.approx(expected, rel=1e-5)


def test_target_of_a_label_unknown_at_storage_is_the_lowest_logit() -> None:
    learner, old = DER(**FLAT), batch_of([0, 1])
    learner.add_labels(old.labels)
    set_head(learner, some_head(2))
    learner.buffer.add(old, logits=logits_of(some_head(2), old).astype(np.float32))
    learner.buffer.add(batch_of([2]), logits=np.zeros((1, 3), np.float32))  # a third label
    learner.add_labels(np.array([2, 3]))
    new_rows = some_head(4, number=1)
    new_rows[:2] = some_head(2)
    set_head(learner, new_rows)
    kept = learner.buffer.everything()
    error = float(learner.logit_error(kept).detach())  # type: ignore[arg-type]
    then = logits_of(some_head(2), old)
    wanted = np.zeros((3, 4))
    wanted[:2] = np.hstack([then, np.repeat(then.min(1, keepdims=True), 2, axis=1)])
    now = np.vstack([logits_of(new_rows, old), logits_of(new_rows, batch_of([2]))])
    assert error == pytest.approx(np.square(now - wanted).mean(), rel=1e-5)


def test_logits_count_as_memory() -> None:
    learner = DER(**FLAT)
    learner.learn(batch_of([0, 1, 1]))
    pixels, label, two_logits = 4, 8, 2 * 4
    assert learner.footprint().memory == 3 * (pixels + label + two_logits)


def test_der_plus_plus_adds_cross_entropy_of_a_second_sample() -> None:
    old, new = batch_of([0, 1] * 20), batch_of([1, 0, 0], number=1)
    learner, twin = DERPlusPlus(**FLAT, alpha=0.4, beta=0.6, replay_size=5), Reservoir(capacity=2000)
    learner.add_labels(np.array([0, 1]))
    moved, then = some_head(2, number=1), logits_of(some_head(2), old).astype(np.float32)
    for buffer in (learner.buffer, twin):
        buffer.add(old, logits=then)
    set_head(learner, moved)
    first, second = twin.sample(5), twin.sample(5)
    assert (first.rows != second.rows).any()
    error = np.square(logits_of(moved, first) - first.extra["logits"]).mean()
    expected = (
        cross_entropy(moved, new, [1, 0, 0])
        + 0.4 * error
        + 0.6 * cross_entropy(moved, second, second.labels.tolist())
    )
    assert learner.learn(new)["loss"] == pytest.approx(expected, rel=1e-5)


def test_flops_of_both_samples_are_counted() -> None:
    learner = DERPlusPlus(image_shape=(2, 2), backbone="mlp", replay_size=2)
    learner.learn(batch_of([0, 1, 1]))
    before = learner.flops
    learner.learn(batch_of([0, 1, 1]))
    assert learner.flops - before == (3 + 2 + 2) * 3 * learner.forward_flops
