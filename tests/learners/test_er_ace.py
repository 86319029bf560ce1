import numpy as np
import pytest

from everlearn.learners.er_ace import ERACE
from everlearn.learners.naive import Naive
from everlearn.streams import Batch, sprites

from .toy import FLAT, batch_of, cross_entropy, gradients, head_of, set_head, some_head

HEAD = some_head(3)


def learner_with_old_images() -> ERACE:
    learner = ERACE(**FLAT, replay_size=4)
    learner.buffer.add(batch_of([0, 1, 0, 2], number=1))
    learner.add_labels(np.array([0, 1, 2]))
    set_head(learner, HEAD)
    return learner


def test_new_images_are_compared_over_their_own_labels_only() -> None:
    learner, new, old = learner_with_old_images(), batch_of([2, 1, 1]), batch_of([0, 1, 0, 2], number=1)
    within = HEAD[1:]  # logits of labels 1 and 2
    expected = {
        "new": cross_entropy(within, new, [1, 0, 0]),
        "replayed": cross_entropy(HEAD, old, old.labels.tolist()),
    }
    losses = learner.learn(new)
    assert losses == pytest.approx({"loss": sum(expected.values()), **expected}, rel=1e-5)
    step = gradients(HEAD, old, old.labels.tolist()).mean(0)
    step[1:] += gradients(within, new, [1, 0, 0]).mean(0)
    np.testing.assert_allclose(head_of(learner), HEAD - 0.5 * step, atol=1e-6)


def test_batch_statistics_are_those_of_new_and_replayed_images_together() -> None:
    """Otherwise each loss would be normalized by statistics that predictions do not have."""
    stream = sprites(image_size=16, factor_values=2, classes_per_task=3)
    learner, seen = ERACE.tiny(), []
    learner.learn(stream.task(0).train[:8])
    learner.net.register_forward_hook(lambda *args: seen.append(len(args[-1])))
    learner.learn(stream.task(1).train[:8])
    assert seen == [16]


def test_first_batch_is_trained_as_without_replay() -> None:
    learner, naive, batch = ERACE(**FLAT), Naive(**FLAT), batch_of([0, 1])
    assert learner.learn(batch)["loss"] == naive.learn(batch)["loss"]
    assert len(learner.buffer) == 2


def test_factors_are_not_stored() -> None:
    learner, batch = ERACE.tiny(), sprites(image_size=16, factor_values=2).task(0).train[:8]
    learner.learn(Batch(batch.images, batch.labels, batch.factors))
    assert learner.buffer.everything().factors is None
