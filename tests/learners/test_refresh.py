import numpy as np
import pytest
import torch

from everlearn.learners.der import DERPlusPlus
from everlearn.learners.er import ER
from everlearn.learners.ewc import EWC
from everlearn.learners.refresh import Refresh, Refreshing
from everlearn.rng import rng_at
from everlearn.serialization import digest
from everlearn.streams import Batch
from everlearn.testing import check_learner

from .toy import FLAT, batch_of, cross_entropy, gradients, head_of, set_head, some_head, view_of

BATCH, HEAD = batch_of([0, 1, 1]), some_head(2)


class RefreshDERPlusPlus(Refreshing, DERPlusPlus):
    """DER++ with refresh learning."""


def learner_with_head(**settings: float) -> Refresh:
    learner = Refresh(**FLAT, **settings)
    learner.add_labels(np.array([0, 1]))
    set_head(learner, HEAD)
    return learner


def test_unlearning_is_normalized_noisy_ascent_damped_by_fisher() -> None:
    learner = learner_with_head(unlearning_rate=0.1, noise=0.3, fisher_weight=2.0)
    for number, fisher in enumerate(learner.fisher):
        learner.fisher[number] = torch.full_like(fisher, number + 1.0)
    rng, g = rng_at(0, "test"), gradients(HEAD, BATCH, [0, 1, 1]).mean(0)
    shapes = [tuple(each.shape) for each in learner.parameters()]
    noise = [rng.normal(int(np.prod(shape))).reshape(shape) for shape in shapes]
    names = [name for name, _ in learner.net.named_parameters()]
    learner.unlearn(BATCH, rng_at(0, "test"))
    expected = HEAD.copy()
    for name, columns in (("head.weight", slice(0, 4)), ("head.bias", 4)):
        number = names.index(name)
        w, gradient = HEAD[:, columns], g[:, columns]
        ascent = np.linalg.norm(w) / np.linalg.norm(gradient) * gradient
        expected[:, columns] += 0.1 * (ascent + 0.3 * noise[number][:2]) / (1 + 2.0 * (number + 1))
    np.testing.assert_allclose(head_of(learner), expected, atol=1e-6)


def test_unlearning_increases_the_loss_of_the_batch() -> None:
    learner = learner_with_head(unlearning_rate=0.01, noise=0.0)
    learner.unlearn(BATCH, rng_at(0, "test"))
    assert cross_entropy(head_of(learner), BATCH, [0, 1, 1]) > cross_entropy(HEAD, BATCH, [0, 1, 1])


def test_relearning_starts_from_the_unlearned_weights() -> None:
    learner, twin = (learner_with_head(unlearning_rate=0.2, n_unlearning_steps=2) for _ in range(2))
    for number in range(2):
        twin.unlearn(BATCH, rng_at(0, "refresh noise", 0, number))
    expected = twin.loss(*twin.tensors(BATCH)).item()
    assert expected > learner.loss(*learner.tensors(BATCH)).item()
    assert learner.learn(BATCH)["loss"] == pytest.approx(expected, rel=1e-5)


def test_without_unlearning_it_is_er() -> None:
    learner, er = Refresh(**FLAT, n_unlearning_steps=0), ER(**FLAT)
    for number in range(3):
        assert learner.learn(batch_of([0, 1], number)) == er.learn(batch_of([0, 1], number))
    np.testing.assert_array_equal(head_of(learner), head_of(er))


def test_fisher_information_is_that_of_ewc_and_decays() -> None:
    learner, ewc = learner_with_head(fisher_decay=0.25), EWC(**FLAT)
    ewc.add_labels(np.array([0, 1]))
    set_head(ewc, HEAD)
    expected = [each.clone() for each in ewc.fisher(BATCH)]
    for times in (1, 1.25):
        learner.end(view_of(BATCH))
        for found, each in zip(learner.fisher, expected, strict=True):
            torch.testing.assert_close(found, times * each)


def test_running_statistics_do_not_change() -> None:
    learner, images = Refresh.tiny(), rng_at(0, "test").integers(8 * 256, 256).astype(np.uint8)
    batch = Batch(images.reshape(8, 16, 16), np.arange(8) % 2)
    learner.learn(batch)
    before = digest({name: each.numpy().copy() for name, each in learner.net.named_buffers()})
    learner.unlearn(batch, rng_at(0, "test"))
    assert digest({name: each.numpy() for name, each in learner.net.named_buffers()}) == before


def test_other_methods_can_be_refreshed() -> None:
    assert check_learner(RefreshDERPlusPlus)
    assert RefreshDERPlusPlus.tiny().supervision == DERPlusPlus.supervision
