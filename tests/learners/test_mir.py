import numpy as np
import pytest

from everlearn.learners.mir import MIR
from everlearn.learners.naive import Naive
from everlearn.streams import Batch, sprites

from .toy import (
    FLAT,
    batch_of,
    cross_entropy,
    gradients,
    head_of,
    pixels,
    probabilities,
    set_head,
    some_head,
)

OLD, NEW = batch_of([0, 1] * 10, number=1), batch_of([1, 1, 0])
HEAD = some_head(2)


def learner_with_old_images(**settings: int) -> MIR:
    learner = MIR(**FLAT, **settings)
    learner.buffer.add(OLD)
    learner.add_labels(np.array([0, 1]))
    set_head(learner, HEAD)
    return learner


def increases(candidates: Batch) -> np.ndarray:
    """How much the loss of each image grows by a step of head and gain on the new batch."""
    moved = HEAD - 0.5 * gradients(HEAD, NEW, NEW.labels.tolist()).mean(0)
    wrong = probabilities(HEAD, NEW) - np.eye(2)[NEW.labels]
    moved[:, :4] *= 1 - 0.5 * (wrong * (pixels(NEW) @ HEAD[:, :4].T)).sum(1).mean()

    def loss(head: np.ndarray, row: int) -> float:
        return cross_entropy(head, candidates[row], [int(candidates.labels[row])])

    return np.array([loss(moved, row) - loss(HEAD, row) for row in range(len(candidates))])


@pytest.mark.parametrize("n_candidates", [20, 8])
def test_images_with_the_largest_increase_of_the_loss_are_replayed(n_candidates: int) -> None:
    learner = learner_with_old_images(replay_size=3, n_candidates=n_candidates)
    twin = learner_with_old_images()
    drawn = twin.buffer.sample(n_candidates)
    candidates = Batch(drawn.images, drawn.labels)
    rows = np.argsort(-increases(candidates))[:3]
    replayed = candidates[rows]
    expected = cross_entropy(HEAD, NEW, [1, 1, 0]) + cross_entropy(HEAD, replayed, replayed.labels.tolist())
    assert learner.learn(NEW)["loss"] == pytest.approx(expected, rel=1e-5)
    step = gradients(HEAD, NEW, [1, 1, 0]).mean(0) + gradients(HEAD, replayed, replayed.labels.tolist()).mean(
        0
    )
    np.testing.assert_allclose(head_of(learner), HEAD - 0.5 * step, atol=1e-6)


def test_first_batch_is_trained_as_without_replay() -> None:
    learner, naive, batch = MIR(**FLAT), Naive(**FLAT), batch_of([0, 1])
    assert learner.learn(batch) == naive.learn(batch)


def test_batch_statistics_are_those_of_new_and_replayed_images_together() -> None:
    stream = sprites(image_size=16, factor_values=2, classes_per_task=3)
    learner, seen = MIR.tiny(), []
    learner.learn(stream.task(0).train[:8])
    learner.net.register_forward_hook(lambda net, _, logits: seen.append((net.training, len(logits))))
    learner.learn(stream.task(1).train[:6])
    assert seen == [(False, 6), (False, 8), (False, 8), (True, 14)]


def test_passes_over_candidates_are_counted() -> None:
    learner = MIR(image_shape=(2, 2), backbone="mlp", replay_size=2, n_candidates=4)
    learner.learn(batch_of([0, 1, 1, 0, 1]))
    before = learner.flops
    learner.learn(batch_of([0, 1, 1], number=1))
    assert learner.flops - before == (3 * (3 + 3 + 2) + 2 * 4) * learner.forward_flops
