import numpy as np
import pytest
import torch

from everlearn.factors import Factors
from everlearn.learners.exemplar_replay import ExemplarReplay
from everlearn.networks import pose, to_tensor
from everlearn.rng import rng_at
from everlearn.streams import Batch, sprites

from .toy import FLAT, batch_of, cross_entropy, set_head, some_head

STREAM = sprites(image_size=32, classes_per_task=3, factor_values=4)


def test_loss_is_cross_entropy_over_new_images_and_exemplars_in_random_poses() -> None:
    learner, new = ExemplarReplay(**FLAT, replay_size=5), batch_of([1, 1, 0])
    learner.exemplars.add(batch_of([0, 1], number=1))
    learner.add_labels(np.array([0, 1]))
    set_head(learner, some_head(2))
    rows = rng_at(0, "replayed exemplars", 0).integers(5, 2)
    drawn = batch_of([0, 1], number=1)[rows]
    posed, _ = pose.augment_poses(to_tensor(drawn.images), rng_at(0, "exemplar poses", 0))
    levels = (posed[:, 0].numpy() + 0.66) * 255  # the reference in numpy takes images
    union = Batch(np.concatenate([new.images, levels]), np.concatenate([new.labels, drawn.labels]))
    expected = cross_entropy(some_head(2), union, union.labels.tolist())
    assert learner.learn(new)["loss"] == pytest.approx(expected, rel=1e-5)


def test_replayed_exemplars_are_images_of_their_class() -> None:
    """An exemplar warped to a pose is about the image that the stream renders in that pose."""
    task = STREAM.task(0)
    exemplars = to_tensor(task.exemplars.images)[[0] * 20]
    posed, poses = pose.augment_poses(exemplars, rng_at(0, "exemplar poses", 0))
    factors: Factors = pose.factors_from_poses(poses)
    rendered = to_tensor(STREAM.source.render(np.zeros(20, np.int64), factors))
    error, difference = (posed - rendered).abs().mean(), (rendered - rendered.roll(1, 0)).abs().mean()
    assert error < 0.1 * difference


def test_one_canonical_image_of_each_class_is_stored() -> None:
    learner = ExemplarReplay.tiny(image_shape=(32, 32))
    for task in STREAM.take(2):
        learner.begin(task.for_learner())
        for batch in list(task.train.batches(8))[:3]:
            learner.learn(batch)
        for label, exemplar in zip(task.exemplars.labels.tolist(), task.exemplars.images, strict=True):
            np.testing.assert_array_equal(learner.exemplars.images_of(label), exemplar[None])
    assert len(learner.exemplars) == 6


def test_all_classes_are_replayed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, targets = ExemplarReplay(**FLAT, replay_size=1000), []
    learner.exemplars.add(batch_of([0, 1, 2, 3]))
    loss = torch.zeros((), requires_grad=True)
    monkeypatch.setattr(learner, "loss", lambda _, seen: targets.append(seen[2:]) or loss + 0)
    monkeypatch.setattr(learner, "optimizer_step", lambda _: None)
    learner.learn(batch_of([3, 3]))
    assert np.abs(np.bincount(targets[0]) - 250).max() < 60


def test_exemplars_can_be_trained_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, seen = ExemplarReplay(**FLAT, replay_size=5, new_images=False), []
    learner.exemplars.add(batch_of([0, 1]))
    warped = pose.augment_poses
    monkeypatch.setattr(pose, "augment_poses", lambda *args: seen.append(len(args[0])) or warped(*args))
    before = learner.flops
    learner.learn(batch_of([1, 1, 1]))
    assert seen == [8]
    assert learner.flops - before == 8 * 3 * learner.forward_flops


def test_classes_without_exemplar_store_their_first_image() -> None:
    learner, batch = ExemplarReplay(**FLAT), batch_of([5, 5, 7])
    learner.learn(batch)
    np.testing.assert_array_equal(learner.exemplars.images, batch.images[[0, 2]])
