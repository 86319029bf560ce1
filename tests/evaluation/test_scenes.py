"""What is read from codes: all that a hand-made learner puts there, and no more."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from everlearn.evaluation.protocols.environments import UNNAMED, Scene, sampled, scenes, what_is_read
from everlearn.rng import FloatArray
from everlearn.streams import Batch, environments, sprites
from everlearn.streams.stream import Images

STAGES = environments(
    sequence=["sprites", "moving-sprites", "sprites"], image_size=16, n_shapes=3, images_per_shape=700
)


class Knowing:
    """Describes images by what it was told of them, as surely as is wanted."""

    def __init__(self, *batches: Batch, deviation: float = 0.0) -> None:
        self._told = {image.tobytes(): row for batch in batches for image, row in _rows(batch)}
        self._deviation = deviation

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        mean = np.stack([self._told[image.tobytes()] for image in images])
        return mean, np.full(mean.shape, self._deviation)


def _rows(batch: Batch) -> Iterable[tuple[Images, FloatArray]]:
    assert batch.factors is not None
    columns = [np.eye(10)[batch.labels], batch.factors.x[:, None], batch.factors.y[:, None]]
    return zip(batch.images, np.concatenate(columns, axis=1), strict=True)


def moving() -> Scene:
    (scene,) = (each for each in scenes(STAGES, 3, 100) if each.name == "moving-sprites")
    return scene


def test_scenes_are_the_environments_once_each() -> None:
    found = scenes(STAGES, 3, 40)
    assert [scene.name for scene in found] == ["sprites", "moving-sprites"]
    for scene, task in zip(found, STAGES.take(2), strict=True):
        assert (len(scene.lesson), len(scene.test)) == (200, 40)
        ours = {image.tobytes() for image in scene.lesson.images}
        assert ours <= {image.tobytes() for image in task.val.images}
        assert ours.isdisjoint(image.tobytes() for image in task.train.images)
    assert [scene.name for scene in scenes(STAGES, 1, 40)] == ["sprites"]


def test_tasks_without_names_are_one_scene() -> None:
    stream = sprites(image_size=16, classes_per_task=2, factor_values=3, split=(0.6, 0.2, 0.2))
    (scene,) = scenes(stream, 5, 50)
    assert scene.name == UNNAMED
    assert set(scene.test.labels.tolist()) == set(range(10))


def test_without_validation_images_probes_learn_from_training_images() -> None:
    stream = sprites(image_size=16, classes_per_task=2, factor_values=2, split=(12, 0, 4))
    task = stream.task(0)
    assert not len(task.val)
    (scene,) = scenes(stream, 1, 8)
    ours = {image.tobytes() for image in scene.lesson.images}
    assert ours <= {image.tobytes() for image in task.train.images}
    assert len(scene.lesson) == len(task.train)


def test_probes_can_be_taught_by_as_many_training_images_as_are_wanted() -> None:
    found = scenes(STAGES, 3, 40, lesson_size=900)
    for scene, task in zip(found, STAGES.take(2), strict=True):
        assert (len(scene.lesson), len(scene.test)) == (900, 40)
        assert {image.tobytes() for image in scene.lesson.images} <= {
            image.tobytes() for image in task.train.images
        }


def test_all_that_codes_say_is_read() -> None:
    scene = moving()
    read = what_is_read(Knowing(scene.lesson, scene.test), scene, seed=0)
    assert list(read) == ["object", "position", "scale", "angle"]
    assert read["object"] == 1.0
    assert read["position"] < 3e-4
    assert read["angle"] > 0.35, "nobody put it there: the variance of a sine is a half"


def test_codes_are_samples() -> None:
    """A learner that is sure of nothing says nothing, whatever its means are."""
    scene = moving()
    unsure = Knowing(scene.lesson, scene.test, deviation=100.0)
    read = what_is_read(unsure, scene, seed=0)
    assert read["object"] < 0.55
    assert read["position"] > 0.06
    assert np.array_equal(sampled(unsure, scene.test, 0, 1), sampled(unsure, scene.test, 0, 1))
    assert sampled(unsure, scene.test, 0, 1).std() == pytest.approx(100, rel=0.1)


def test_what_does_not_vary_is_not_asked_for() -> None:
    still = next(each for each in scenes(STAGES, 3, 100) if each.name == "sprites")
    read = what_is_read(Knowing(still.lesson, still.test), still, seed=0)
    assert list(read) == ["object", "scale", "angle"]
    one = replace(still, lesson=still.lesson[still.lesson.labels == 1])
    assert "object" not in what_is_read(Knowing(still.lesson, still.test), one, seed=0)
    plain = [Batch(batch.images, batch.labels) for batch in (still.lesson, still.test)]
    assert list(what_is_read(Knowing(still.lesson, still.test), Scene("", *plain), seed=0)) == ["object"]
    assert what_is_read(Knowing(still.lesson), replace(still, test=still.test[:0]), seed=0) == {}
