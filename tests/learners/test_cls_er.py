import numpy as np
import pytest
import torch

from everlearn.learners.cls_er import CLSER
from everlearn.rng import rng_at

from .toy import FLAT, batch_of, cross_entropy, head_of, logits_of, probabilities, set_head, some_head

OLD = batch_of([0, 1] * 4, number=1)


def learner_with_copies(**settings: float) -> CLSER:
    """The copies and the network have heads 0, 1 and 2."""
    learner = CLSER(**FLAT, **settings)
    learner.add_labels(np.array([0, 1]))
    for number, average in enumerate((learner.plastic, learner.stable)):
        set_head(learner, some_head(2, number))
        average.update()
    set_head(learner, some_head(2, number=2))
    return learner


def test_logits_are_those_of_the_copy_that_is_more_certain() -> None:
    learner, rows = learner_with_copies(), np.arange(8)
    certain = [probabilities(some_head(2, number), OLD)[rows, OLD.labels] for number in range(2)]
    is_stable = certain[1] > certain[0]
    assert 0 < is_stable.sum() < 8
    expected = np.where(is_stable[:, None], *(logits_of(some_head(2, number), OLD) for number in (1, 0)))
    found = learner.soft_targets(learner.tensor(OLD.images), torch.from_numpy(OLD.labels))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_loss_is_cross_entropy_and_consistency() -> None:
    learner, new = learner_with_copies(consistency_weight=0.3, replay_size=8), batch_of([1, 1, 0])
    learner.buffer.add(OLD)
    targets = learner.soft_targets(learner.tensor(OLD.images), torch.from_numpy(OLD.labels)).numpy()
    head = some_head(2, number=2)
    consistency = np.square(logits_of(head, OLD) - targets).mean()
    both = [*new.labels.tolist(), *OLD.labels.tolist()]
    union = type(new).concatenate([new, OLD])
    expected = cross_entropy(head, union, both) + 0.3 * consistency
    losses = learner.learn(new)
    assert losses == pytest.approx({"loss": expected, "consistency": consistency}, rel=1e-4)


def test_averages_are_updated_with_their_probability() -> None:
    learner = CLSER(**FLAT, plastic_rate=0.8, stable_rate=0.3, plastic_decay=0.9, stable_decay=0.6)
    averages = np.zeros((2, 2, 5))
    for step in range(1, 15):
        learner.learn(batch_of([0, 1, 1], number=step))
        drawn = rng_at(0, "cls-er updates", step).uniform(2)
        for row, (rate, decay) in enumerate([(0.8, 0.9), (0.3, 0.6)]):
            if drawn[row] < rate:
                decay = min(decay, 1 - 1 / (step + 1))
                averages[row] = decay * averages[row] + (1 - decay) * head_of(learner)
    for average, expected in zip((learner.plastic, learner.stable), averages, strict=True):
        assert average.net is not None
        assert np.abs(expected).min() > 1e-4
        np.testing.assert_allclose(average.net.head.weight[:2], expected[:, :4], atol=1e-5)
        np.testing.assert_allclose(average.net.head.bias[:2], expected[:, 4], atol=1e-5)


def test_stable_copy_predicts() -> None:
    learner = learner_with_copies()
    expected = logits_of(some_head(2, number=1), OLD).argmax(1)
    assert len(set(expected.tolist())) == 2
    np.testing.assert_array_equal(learner.predict(OLD.images), expected)
