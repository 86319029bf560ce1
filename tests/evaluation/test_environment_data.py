"""Data of environments, and probe scores of a learner with known latents."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from everlearn.evaluation.environment_data import (
    UNNAMED,
    EnvironmentData,
    environment_data,
    probe_scores,
    sample_latents,
)
from everlearn.rng import FloatArray
from everlearn.streams import Batch, environments, sprites
from everlearn.streams.stream import Images

STREAM = environments(
    sequence=["sprites", "moving-sprites", "sprites"], image_size=16, n_shapes=3, images_per_shape=700
)
STILL, MOVING = environment_data(STREAM, 3, 100)


class KnownLatents:
    """The posterior mean is the one-hot label and the position."""

    def __init__(self, *batches: Batch, std: float = 0.0) -> None:
        self._latents = {image.tobytes(): row for batch in batches for image, row in _rows(batch)}
        self._std = std

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        mean = np.stack([self._latents[image.tobytes()] for image in images])
        return mean, np.full(mean.shape, self._std)


def _rows(batch: Batch) -> Iterable[tuple[Images, FloatArray]]:
    assert batch.factors is not None
    columns = [np.eye(10)[batch.labels], batch.factors.x[:, None], batch.factors.y[:, None]]
    return zip(batch.images, np.concatenate(columns, axis=1), strict=True)


def keys(images: Images) -> set[bytes]:
    return {image.tobytes() for image in images}


def test_each_environment_once_with_validation_images() -> None:
    found = environment_data(STREAM, 3, 40)
    assert [each.name for each in found] == ["sprites", "moving-sprites"]
    for each, task in zip(found, STREAM.take(2), strict=True):
        assert (len(each.train), len(each.test)) == (200, 40)
        assert keys(each.train.images) <= keys(task.val.images)
        assert keys(each.train.images).isdisjoint(keys(task.train.images))
    assert [each.name for each in environment_data(STREAM, 1, 40)] == ["sprites"]


def test_unnamed_tasks_are_one_environment() -> None:
    stream = sprites(image_size=16, classes_per_task=2, factor_values=3, split=(0.6, 0.2, 0.2))
    (data,) = environment_data(stream, 5, 50)
    assert data.name == UNNAMED
    assert set(data.test.labels.tolist()) == set(range(10))


def test_training_images_are_used_without_validation_images() -> None:
    stream = sprites(image_size=16, classes_per_task=2, factor_values=2, split=(12, 0, 4))
    task = stream.task(0)
    (data,) = environment_data(stream, 1, 8)
    assert keys(data.train.images) == keys(task.train.images)


def test_number_of_training_images() -> None:
    for each, task in zip(environment_data(STREAM, 3, 40, n_train=900), STREAM.take(2), strict=True):
        assert (len(each.train), len(each.test)) == (900, 40)
        assert keys(each.train.images) <= keys(task.train.images)


def test_probe_scores_of_encoded_and_missing_quantities() -> None:
    scores = probe_scores(KnownLatents(MOVING.train, MOVING.test), MOVING, seed=0)
    assert list(scores) == ["object", "position", "scale", "angle"]
    assert scores["object"] == 1.0
    assert scores["position"] < 3e-4
    assert scores["angle"] > 0.35, "not encoded: the variance of a sine is 0.5"


def test_probes_use_samples_of_the_posterior() -> None:
    uncertain = KnownLatents(MOVING.train, MOVING.test, std=100.0)
    scores = probe_scores(uncertain, MOVING, seed=0)
    assert scores["object"] < 0.55
    assert scores["position"] > 0.06
    first, again = (sample_latents(uncertain, MOVING.test, 0, 1) for _ in range(2))
    assert np.array_equal(first, again)
    assert first.std() == pytest.approx(100, rel=0.1)


def test_constant_quantities_have_no_score() -> None:
    learner = KnownLatents(STILL.train, STILL.test)
    assert list(probe_scores(learner, STILL, seed=0)) == ["object", "scale", "angle"]
    one_class = replace(STILL, train=STILL.train[STILL.train.labels == 1])
    assert "object" not in probe_scores(learner, one_class, seed=0)
    no_factors = [Batch(batch.images, batch.labels) for batch in (STILL.train, STILL.test)]
    assert list(probe_scores(learner, EnvironmentData("", *no_factors), seed=0)) == ["object"]
    assert probe_scores(learner, replace(STILL, test=STILL.test[:0]), seed=0) == {}
