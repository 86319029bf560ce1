"""The environments of a stream, and how much can be read from a learner's codes of each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from everlearn.chance import FloatArray, draws
from everlearn.evaluation.probes import read_labels, read_numbers
from everlearn.evaluation.protocols.samples import some_tasks, spread
from everlearn.factors import Factors
from everlearn.learners import Describes
from everlearn.streams import Batch, Split, Stream, Task

LESSON = 5
"""Pictures that probes learn from, for each one they are judged by, if nobody says how many."""
UNNAMED = "all"
"""What tasks without names show, taken together."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What an environment shows.

    Attributes:
        name: of the environment.
        lesson: pictures to teach probes with.
        test: pictures to judge probes by.
    """

    name: str
    lesson: Batch
    test: Batch


def scene_of(task: Task) -> str:
    """The name of the scene that a task shows."""
    return task.name or UNNAMED


def scenes(stream: Stream, n_tasks: int, size: int, lesson_size: int | None = None) -> list[Scene]:
    """Everything that the first tasks of a stream show, by names in the order in which they come.

    Tasks without a name are one scene together; up to 20 of them stand for all.

    Args:
        stream: what is shown.
        n_tasks: how many tasks of it.
        size: pictures of each scene to judge by.
        lesson_size: training pictures to learn from. If not said, five times as many as are judged:
            validation pictures, which no learner learns from, or training ones where there are none.

    Example:
        >>> from everlearn.streams import environments
        >>> stream = environments(sequence=["sprites", "moving-sprites", "sprites"], image_size=16)
        >>> [(scene.name, len(scene.lesson), len(scene.test)) for scene in scenes(stream, 3, 100)]
        [('sprites', 500, 100), ('moving-sprites', 500, 100)]
    """
    if not stream.task(0).name:
        return [_scene(UNNAMED, partial(some_tasks, stream, n_tasks), size, lesson_size)]
    first: dict[str, Task] = {}
    for task in stream.take(n_tasks):
        first.setdefault(task.name, task)
    return [_scene(name, partial(_some_of, task), size, lesson_size) for name, task in first.items()]


def what_is_read(learner: Describes, scene: Scene, seed: int) -> dict[str, float]:
    """How well probes read from samples of a learner's codes what is in a scene.

    They are learned anew each time, from the same samples for the same seed. Gives the accuracy for "object"
    (its label) and the mean squared error for "position" (in half widths of a picture), "scale" and "angle"
    (cosine and sine), as far as they vary. The learner is left as it was found.
    """
    if not len(scene.lesson) or not len(scene.test):
        return {}
    lesson, test = (sampled(learner, each, seed, n) for n, each in enumerate((scene.lesson, scene.test)))
    read = {}
    if len(np.unique(scene.lesson.labels)) > 1:
        named = read_labels(lesson, scene.lesson.labels, test, seed=seed)
        read["object"] = float((named == scene.test.labels).mean())
    if scene.lesson.factors is not None and scene.test.factors is not None:
        truth = _quantities(scene.test.factors)
        for name, numbers in _quantities(scene.lesson.factors).items():
            if (numbers != numbers[0]).any(axis=0).all():
                missed = read_numbers(lesson, numbers, test, seed=seed) - truth[name]
                read[name] = float((missed**2).mean())
    return read


def sampled(learner: Describes, batch: Batch, seed: int, *address: int) -> FloatArray:
    """A sample of what a learner's latents may be for each picture, the same for the same address."""
    mean, deviation = learner.describe(batch.images)
    return mean + deviation * draws(seed, "probe codes", *address).normal(mean.size).reshape(mean.shape)


def _quantities(factors: Factors) -> dict[str, FloatArray]:
    """What a scene shows, as columns of numbers."""
    return {
        "position": np.stack([factors.x, factors.y], axis=1),
        "scale": factors.scale[:, None],
        "angle": np.stack([np.cos(factors.angle), np.sin(factors.angle)], axis=1),
    }


def _scene(name: str, some: Callable[[Split, int], Batch], size: int, lesson_size: int | None) -> Scene:
    lesson = some("val", LESSON * size) if lesson_size is None else None
    if not lesson:
        lesson = some("train", lesson_size or LESSON * size)
    return Scene(name, lesson, some("test", size))


def _some_of(task: Task, split: Split, size: int) -> Batch:
    return spread(task.split(split), size)
