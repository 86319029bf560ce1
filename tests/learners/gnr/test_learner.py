"""What negative replay does not change, bit for bit, and its gradients by hand."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.gnr.latent_replay import GeneratedActivations, LatentBatch
from everlearn.learners.gnr.learner import GNR
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch, sprites
from tests.learners.toy import FLAT, FloatArray, batch_of, view_of

STREAM = sprites(image_size=16, factor_values=2, classes_per_task=2, n_tasks=3)
HEAVY = {"momentum": 0.9, "weight_decay": 0.05, "head_lr": 0.5, "learning_rate": 0.5}
"""Settings that change class weights even without a gradient."""
SMALL = {
    "image_shape": (16, 16), "backbone": "small-renorm", "generator_width": 16, "n_latents": 4,
    "memory_size": 20, "replay_size": 8,
}  # fmt: skip


def toy(**settings: Any) -> GNR:
    """Softmax regression on four pixels: the activations are the features."""
    flat = {**FLAT, **HEAVY, "replay_layer": 1, "source": "real", "replay_size": 3, "backbone_lr": 0.0}
    return GNR(**{**flat, **settings})


def train_first(learner: GNR) -> GNR:
    """Train a first task with two classes."""
    batch = batch_of([0, 0, 1, 1])
    learner.begin(view_of(batch))
    for _ in range(3):
        learner.learn(batch)
    learner.end(view_of(batch))
    return learner


def train(learner: GNR, k: int) -> None:
    view = STREAM.task(k).for_learner()
    learner.begin(view)
    for _ in range(2):
        for batch in view.train.batches(8):
            learner.learn(batch)
    learner.end(view)


def rows(learner: GNR) -> torch.Tensor:
    return learner.cwr_head.inference_weights(learner.net.head.weight.detach()).clone()


@pytest.mark.parametrize("source", ["generated", "real", "random"])
def test_negative_replay_does_not_change_class_weights_of_replayed_classes(source: str) -> None:
    """A whole task inside AR1, with momentum and decay: all past classes are replayed."""
    learner = GNR(**{**SMALL, **HEAVY, "source": source, "learning_rate": 0.01})
    train(learner, 0)
    before, view = rows(learner), STREAM.task(1).for_learner()
    learner.begin(view)
    assert set(learner._replayed()) == {0, 1}, "both are replayed"
    train(learner, 1)
    assert torch.equal(rows(learner)[:2], before[:2])
    assert rows(learner)[2:4].any()


def test_replay_quality_is_measured_by_real_class_means() -> None:
    """Stored images with exchanged labels: those whose label is that of the nearer mean count."""
    learner = toy()
    confused = Batch(batch_of([0, 1, 1, 1]).images[[0, 1, 2, 2]], np.array([0, 1, 1, 0]))
    learner.begin(view_of(confused))
    assert "replay_quality" not in learner.learn(confused), "nothing is old yet"
    learner.end(view_of(confused))
    learner.begin(view_of(batch_of([3])))
    quality = learner.learn(batch_of([3]))["replay_quality"]
    assert 0 < quality < 1
    loaded = toy()
    loaded.load(learner.state())
    assert loaded.learn(batch_of([3]))["replay_quality"] == quality


@pytest.mark.parametrize("source", ["generated", "real", "random"])
def test_positive_replay_changes_class_weights_of_replayed_classes(source: str) -> None:
    learner = GNR(**{**SMALL, **HEAVY, "source": source, "learning_rate": 0.01}, role="positive")
    train(learner, 0)
    before = rows(learner)
    train(learner, 1)
    assert not torch.equal(rows(learner)[0], before[0])
    assert not torch.equal(rows(learner)[1], before[1])


@pytest.mark.parametrize("optimizer", [{}, {"optimizer": "adam", "momentum": 0.0}])
def test_standalone_negative_replay_does_not_change_old_class_weights(optimizer: dict[str, Any]) -> None:
    """Ten steps on replayed activations alone, with momentum and weight decay."""
    learner = train_first(toy(form="standalone", **optimizer))
    learner.begin(view_of(batch_of([2, 2], 1), 1))
    before, nothing = rows(learner), Batch(np.zeros((0, 2, 2), np.uint8), np.zeros(0, np.int64))
    for _ in range(10):
        learner.learn(nothing)
    assert torch.equal(rows(learner)[:2], before[:2])
    assert not torch.equal(rows(learner)[2], before[2])


def mixed(learner: GNR, new: Batch) -> tuple[FloatArray, list[int]]:
    """The input of the head in the next step, and the targets."""
    old = learner.replay.sample(3, learner.n_steps)
    seen = learner.lower_activations(learner.tensor(new.images))
    targets = learner.net.head.class_indices(new.labels)
    return torch.cat([seen, old.activations]).double().numpy(), torch.cat([targets, old.targets]).tolist()


def softmax(head: FloatArray, seen: FloatArray) -> FloatArray:
    powers = np.exp(seen @ head.T)
    return powers / powers.sum(1, keepdims=True)


def test_gradient_of_standalone_negative_replay_by_hand() -> None:
    """For replayed activations only the logit of the task's class has a gradient, p * h.

    New activations have gradients in all logits. The loss is that without a mask.
    """
    learner, new = train_first(toy(form="standalone", momentum=0.0)), batch_of([2, 2], 1)
    learner.begin(view_of(new, 1))
    head = learner.net.head.weight[:3].detach().double().numpy()
    head[2] = [0.3, -0.2, 0.5, 0.1]
    with torch.no_grad():
        learner.net.head.weight[2] = torch.from_numpy(head[2])
    seen, targets = mixed(learner, new)
    probabilities = softmax(head, seen)
    wrong = probabilities - np.eye(3)[targets]
    wrong[2:, :2] = 0  # old activations, targets of classes that are not in the task
    np.testing.assert_allclose(wrong[2:, 2], probabilities[2:, 2])
    expected = head - 0.5 * (wrong.T @ seen) / len(seen)
    loss = learner.learn(new)["loss"]
    np.testing.assert_allclose(learner.net.head.weight[:3].detach(), expected, rtol=1e-5, atol=1e-6)
    assert loss == pytest.approx(float(-np.log(probabilities[np.arange(5), targets]).mean()), rel=1e-5)


def test_standalone_positive_replay_is_cross_entropy() -> None:
    learner, new = train_first(toy(form="standalone", role="positive", momentum=0.0)), batch_of([2, 2], 1)
    learner.begin(view_of(new, 1))
    head = learner.net.head.weight[:3].detach().double().numpy()
    seen, targets = mixed(learner, new)
    expected = head - 0.5 * ((softmax(head, seen) - np.eye(3)[targets]).T @ seen) / len(seen)
    learner.learn(new)
    np.testing.assert_allclose(learner.net.head.weight[:3].detach(), expected, rtol=1e-5, atol=1e-6)


def test_class_that_is_both_new_and_replayed_is_trained() -> None:
    learner, again = train_first(toy(form="standalone")), batch_of([1, 1], 1)
    learner.begin(view_of(again, 1))
    before, nothing = rows(learner), again[:0]
    for _ in range(5):  # old activations alone, of both classes
        learner.learn(nothing)
    assert torch.equal(rows(learner)[0], before[0])
    assert not torch.equal(rows(learner)[1], before[1])


def test_positive_replay_consolidates_by_the_number_of_activations() -> None:
    learner, new = train_first(toy(role="positive", memory_size=3)), batch_of([2, 2], 1)
    kept = learner.replay.counts()
    assert sum(kept.values()) == 3
    learner.begin(view_of(new, 1))
    learner.learn(new)
    before, learned = rows(learner), learner.net.head.weight.detach().clone()
    learner.end(view_of(new, 1))
    centered = learned - learned.mean(1, keepdim=True)
    for index, n in kept.items():
        w = (2 / n) ** 0.5  # two images of each in the first task
        torch.testing.assert_close(rows(learner)[index], (before[index] * w + centered[index]) / (w + 1))
        assert int(learner.cwr_head.n_past[index]) == 2 + n


def test_no_replay_in_the_first_task_or_without_source() -> None:
    for learner in (toy(), train_first(toy(source="none"))):
        batch = batch_of([2, 3], 1)
        learner.begin(view_of(batch, 1))
        n_before = learner.flops
        learner.learn(batch)
        assert learner.flops - n_before == pytest.approx(0.0)  # no layers, no activation beyond the batch
        assert not learner._replayed()


def test_generator_and_classifier_are_trained_in_turn() -> None:
    learner = GNR(**SMALL)
    train(learner, 0)
    source = learner.replay
    assert isinstance(source, GeneratedActivations)
    view = STREAM.task(1).for_learner()
    learner.begin(view)
    before = {name: tensor.clone() for name, tensor in source.generator.state_dict().items()}
    learner.learn(view.train)
    assert all(torch.equal(before[name], tensor) for name, tensor in source.generator.state_dict().items())

    targets = learner.net.head.class_indices(view.train.labels)
    learner.consolidate(Counter(targets.tolist()))
    learner.end_training()
    backbone = {name: tensor.clone() for name, tensor in learner.net.backbone.state_dict().items()}
    head = rows(learner)
    source.fit(LatentBatch(learner._activations(view.train.images), targets), 1)
    assert not all(torch.equal(before[name], t) for name, t in source.generator.state_dict().items())
    assert all(
        torch.equal(backbone[name], tensor) for name, tensor in learner.net.backbone.state_dict().items()
    )
    assert torch.equal(rows(learner), head)


def test_layers_below_the_replay_layer_are_frozen_after_the_first_task() -> None:
    learner = GNR(**SMALL, replay_layer=3)
    lower, upper = learner.lower, learner.upper
    fresh = [weight.clone() for weight in lower.parameters()]
    train(learner, 0)
    after_first = {name: tensor.clone() for name, tensor in lower.state_dict().items()}
    assert not torch.equal(fresh[0], next(lower.parameters()))
    before = [weight.clone() for weight in upper.parameters()]
    train(learner, 1)
    assert all(torch.equal(after_first[name], tensor) for name, tensor in lower.state_dict().items())
    assert not torch.equal(before[0], next(upper.parameters()))


@pytest.mark.parametrize("source", ["generated", "real", "random", "none"])
def test_load_between_tasks(source: str) -> None:
    """Between two tasks the lower layers are frozen, and the next task has not begun."""
    learner = GNR(**SMALL, source=source)
    train(learner, 0)
    fresh = GNR(**SMALL, source=source)
    fresh.load(unpack(pack(learner.state())))
    assert digest(fresh.state()) == digest(learner.state())
    for each in (learner, fresh):
        train(each, 1)
    assert digest(fresh.state()) == digest(learner.state())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"replay_layer": 99}, "there is no layer 99"),
        ({"generator_replay_size": 128}, "generator_replay_size"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        GNR(image_shape=(16, 16), **wrong)
