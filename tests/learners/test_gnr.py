"""Negative replay: what it must not touch, to the bit, and what it does instead, by hand."""

from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.gnr import GNR
from everlearn.learners.old_base.generated import GeneratedPatterns
from everlearn.learners.old_base.latent_replay import LatentReplay
from everlearn.learners.old_base.patterns import Patterns
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch, sprites

from .toy import FLAT, FloatArray, batch_of, view_of

STREAM = sprites(image_size=16, factor_values=2, classes_per_task=2, n_tasks=3)
HEAVY = {"momentum": 0.9, "weight_decay": 0.05, "head_rate": 0.5, "learning_rate": 0.5}
"""What moves rows without a gradient, if it is let."""
SMALL = {
    "image_shape": (16, 16), "backbone": "small-renorm", "generator_width": 16, "code_size": 4,
    "memory_size": 20, "replay_size": 8,
}  # fmt: skip


def toy(**settings: Any) -> GNR:
    """Softmax regression on four pixels: the patterns are the features."""
    flat = {**FLAT, **HEAVY, "replay_layer": 1, "source": "real", "replay_size": 3, "body_rate": 0.0}
    return GNR(**{**flat, **settings})


def taught_first(learner: GNR) -> GNR:
    """Two classes, and the first of a task with a third one."""
    batch = batch_of([0, 0, 1, 1])
    learner.begin(view_of(batch))
    for _ in range(3):
        learner.learn(batch)
    learner.end(view_of(batch))
    return learner


def teach(learner: GNR, k: int) -> None:
    view = STREAM.task(k).for_learner()
    learner.begin(view)
    for _ in range(2):
        for batch in view.train.batches(8):
            learner.learn(batch)
    learner.end(view)


def rows(learner: GNR) -> torch.Tensor:
    return learner.consolidation.answering(learner.head.weight.detach()).clone()


@pytest.mark.parametrize("source", ["generated", "real", "random"])
def test_no_row_of_a_replayed_class_changes_by_a_bit(source: str) -> None:
    """A whole task inside AR1, with momentum and decay: every class of the past was replayed."""
    learner = GNR(**{**SMALL, **HEAVY, "source": source, "learning_rate": 0.01})
    teach(learner, 0)
    before, view = rows(learner), STREAM.task(1).for_learner()
    learner.begin(view)
    assert set(learner._replayed()) == {0, 1}, "both are replayed"
    teach(learner, 1)
    assert torch.equal(rows(learner)[:2], before[:2])
    assert rows(learner)[2:4].any()


def test_it_says_what_share_of_the_old_patterns_it_named_rightly_as_a_task_began() -> None:
    """An image under two labels: one of them can never be right."""
    learner = toy()
    confused = Batch(batch_of([0, 0, 0, 0]).images[[0, 1, 2, 2]], np.array([0, 0, 1, 2]))
    learner.begin(view_of(confused))
    assert "named" not in learner.learn(confused), "nothing is old yet"
    for _ in range(20):
        learner.learn(confused)
    learner.end(view_of(confused))
    learner.begin(view_of(batch_of([3])))
    assert learner.learn(batch_of([3]))["named"] == 0.75
    loaded = toy()
    loaded.load(learner.state())
    assert loaded.learn(batch_of([3]))["named"] == 0.75


@pytest.mark.parametrize("source", ["generated", "real", "random"])
def test_positive_replay_does_change_them(source: str) -> None:
    learner = GNR(**{**SMALL, **HEAVY, "source": source, "learning_rate": 0.01}, role="positive")
    teach(learner, 0)
    before = rows(learner)
    teach(learner, 1)
    assert not torch.equal(rows(learner)[0], before[0])
    assert not torch.equal(rows(learner)[1], before[1])


@pytest.mark.parametrize("optimizer", [{}, {"optimizer": "adam", "momentum": 0.0}])
def test_standalone_old_patterns_do_not_move_old_rows_by_a_bit(optimizer: dict[str, Any]) -> None:
    """Ten steps of nothing but old patterns, with momentum and decay."""
    learner = taught_first(toy(form="standalone", **optimizer))
    learner.begin(view_of(batch_of([2, 2], 1), 1))
    before, nothing = rows(learner), Batch(np.zeros((0, 2, 2), np.uint8), np.zeros(0, np.int64))
    for _ in range(10):
        learner.learn(nothing)
    assert torch.equal(rows(learner)[:2], before[:2])
    assert not torch.equal(rows(learner)[2], before[2])


def mixed(learner: GNR, new: Batch) -> tuple[FloatArray, list[int]]:
    """What the head will see in the next step, and the column of each row."""
    old = learner.past.sample(3, learner.n_steps)
    seen = learner.patterns(learner._tensor(new.images))
    columns = learner.head.class_indices(new.labels)
    return torch.cat([seen, old.values]).double().numpy(), torch.cat([columns, old.columns]).tolist()


def softmax(head: FloatArray, seen: FloatArray) -> FloatArray:
    powers = np.exp(seen @ head.T)
    return powers / powers.sum(1, keepdims=True)


def test_the_masked_gradient_is_as_worked_out_by_hand() -> None:
    """For old patterns only the column of the task's class learns: the slope is p * h, for it is never right.

    New patterns move all columns. The loss is what it would be without any mask.
    """
    learner, new = taught_first(toy(form="standalone", momentum=0.0)), batch_of([2, 2], 1)
    learner.begin(view_of(new, 1))
    head = learner.head.weight[:3].detach().double().numpy()
    head[2] = [0.3, -0.2, 0.5, 0.1]
    with torch.no_grad():
        learner.head.weight[2] = torch.from_numpy(head[2])
    seen, columns = mixed(learner, new)
    chances = softmax(head, seen)
    wrong = chances - np.eye(3)[columns]
    wrong[2:, :2] = 0  # old patterns, columns of classes that are not in the task
    np.testing.assert_allclose(wrong[2:, 2], chances[2:, 2])
    expected = head - 0.5 * (wrong.T @ seen) / len(seen)
    loss = learner.learn(new)["loss"]
    np.testing.assert_allclose(learner.head.weight[:3].detach(), expected, rtol=1e-5, atol=1e-6)
    assert loss == pytest.approx(float(-np.log(chances[np.arange(5), columns]).mean()), rel=1e-5)


def test_positive_standalone_replay_is_plain_cross_entropy() -> None:
    learner, new = taught_first(toy(form="standalone", role="positive", momentum=0.0)), batch_of([2, 2], 1)
    learner.begin(view_of(new, 1))
    head = learner.head.weight[:3].detach().double().numpy()
    seen, columns = mixed(learner, new)
    expected = head - 0.5 * ((softmax(head, seen) - np.eye(3)[columns]).T @ seen) / len(seen)
    learner.learn(new)
    np.testing.assert_allclose(learner.head.weight[:3].detach(), expected, rtol=1e-5, atol=1e-6)


def test_a_class_that_is_both_new_and_replayed_is_learned() -> None:
    learner, again = taught_first(toy(form="standalone")), batch_of([1, 1], 1)
    learner.begin(view_of(again, 1))
    before, nothing = rows(learner), again[:0]
    for _ in range(5):  # old patterns alone, of both classes
        learner.learn(nothing)
    assert torch.equal(rows(learner)[0], before[0])
    assert not torch.equal(rows(learner)[1], before[1])


def test_positive_replay_merges_by_the_number_of_patterns() -> None:
    learner, new = taught_first(toy(role="positive", memory_size=3)), batch_of([2, 2], 1)
    kept = learner.past.counts()
    assert sum(kept.values()) == 3
    learner.begin(view_of(new, 1))
    learner.learn(new)
    before, learned = rows(learner), learner.head.weight.detach().clone()
    learner.end(view_of(new, 1))
    centred = learned - learned.mean(1, keepdim=True)
    for column, n in kept.items():
        w = (2 / n) ** 0.5  # two images of each in the first task
        torch.testing.assert_close(rows(learner)[column], (before[column] * w + centred[column]) / (w + 1))
        assert int(learner.consolidation.n_past[column]) == 2 + n


def test_nothing_is_replayed_in_the_first_task_or_from_no_source() -> None:
    for learner in (toy(), taught_first(toy(source="none"))):
        batch = batch_of([2, 3], 1)
        learner.begin(view_of(batch, 1))
        n_before = learner.flops
        learner.learn(batch)
        assert learner.flops - n_before == pytest.approx(0.0)  # no layers, no pattern beyond the batch
        assert not learner._replayed()


def test_the_generator_rests_while_the_classifier_learns_and_the_other_way_round() -> None:
    learner = GNR(**SMALL)
    teach(learner, 0)
    past = learner.past
    assert isinstance(past, GeneratedPatterns)
    view = STREAM.task(1).for_learner()
    learner.begin(view)
    before = {name: tensor.clone() for name, tensor in past.generator.state_dict().items()}
    learner.learn(view.train)
    assert all(torch.equal(before[name], tensor) for name, tensor in past.generator.state_dict().items())

    super(LatentReplay, learner).end(view)  # merging alone, without studying
    body = {name: tensor.clone() for name, tensor in learner.body.state_dict().items()}
    head = rows(learner)
    columns = learner.head.class_indices(view.train.labels)
    past.study(Patterns(learner.look(view.train.images), columns), 1)
    assert not all(torch.equal(before[name], t) for name, t in past.generator.state_dict().items())
    assert all(torch.equal(body[name], tensor) for name, tensor in learner.body.state_dict().items())
    assert torch.equal(rows(learner), head)


def test_the_layers_below_the_patterns_are_frozen_after_the_first_task() -> None:
    learner = GNR(**SMALL, replay_layer=3)
    below, above = learner.halves
    fresh = [weight.clone() for weight in below.parameters()]
    teach(learner, 0)
    after_first = {name: tensor.clone() for name, tensor in below.state_dict().items()}
    assert not torch.equal(fresh[0], next(below.parameters()))
    upper = [weight.clone() for weight in above.parameters()]
    teach(learner, 1)
    assert all(torch.equal(after_first[name], tensor) for name, tensor in below.state_dict().items())
    assert not torch.equal(upper[0], next(above.parameters()))


@pytest.mark.parametrize("source", ["generated", "real", "random", "none"])
def test_a_fresh_one_goes_on_after_the_first_task_as_if_it_had_not_stopped(source: str) -> None:
    """Between two tasks the layers below are frozen already, and the next task has not begun."""
    learner = GNR(**SMALL, source=source)
    teach(learner, 0)
    fresh = GNR(**SMALL, source=source)
    fresh.load(unpack(pack(learner.state())))
    assert digest(fresh.state()) == digest(learner.state())
    for each in (learner, fresh):
        teach(each, 1)
    assert digest(fresh.state()) == digest(learner.state())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"source": "generate"}, "did you mean 'generated'"),
        ({"role": "negativ"}, "did you mean 'negative'"),
        ({"form": "ar2"}, "did you mean 'ar1'"),
        ({"replay_layer": 0}, "replay_layer"),
        ({"replay_layer": 99}, "there is no layer 99"),
        ({"wear": 1.5}, "wear"),
        ({"generator_replay": 128}, "generator_replay"),
        ({"memory_size": 0}, "capacity"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        GNR(image_shape=(16, 16), **wrong)
