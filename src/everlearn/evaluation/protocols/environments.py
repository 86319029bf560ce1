"""Whether a learner knows where it is, and what each of its latents stands for there."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.evaluation.change_detection import Stage, detection, summed_up
from everlearn.evaluation.probes import read_labels, read_numbers
from everlearn.evaluation.protocols.base import Imagines, Situates, imagining, some_tasks, spread
from everlearn.factors import Factors
from everlearn.learners import HasPosterior, InfersEnvironment, Learner
from everlearn.rng import FloatArray, rng_at
from everlearn.streams import Batch, Split, Stream, Task

LESSON = 5
"""Images that probes learn from, for each one they are judged by, if nobody says how many."""
UNNAMED = "all"
"""What tasks without names show, taken together."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What an environment shows.

    Attributes:
        name: of the environment.
        lesson: images to teach probes with.
        test: images to judge probes by.
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
        size: images of each scene to judge by.
        lesson_size: training images to learn from. If not said, five times as many as are judged:
            validation images, which no learner learns from, or training ones where there are none.

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


def what_is_read(learner: HasPosterior, scene: Scene, seed: int) -> dict[str, float]:
    """How well probes read from samples of a learner's codes what is in a scene.

    They are learned anew each time, from the same samples for the same seed. Gives the accuracy for "object"
    (its label) and the mean squared error for "position" (in half widths of an image), "scale" and "angle"
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


def sampled(learner: HasPosterior, batch: Batch, seed: int, *address: int) -> FloatArray:
    """A sample of what a learner's latents may be for each image, the same for the same address."""
    mean, deviation = learner.posterior(batch.images)
    return mean + deviation * rng_at(seed, "probe codes", *address).normal(mean.size).reshape(mean.shape)


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


BoolArray = npt.NDArray[np.bool_]

USED = 0.1
"""Nats above which a latent says something."""


@dataclass(frozen=True, eq=False)
class View:
    """A scene as a learner sees it.

    Attributes:
        scene: its images.
        environment: what the learner takes it for; 0 for learners that tell no environments apart.
        open: which latents apply there.
        mean: (n, n_latents) of its test images; 0, as in the prior, where a latent is closed.
        deviation: the same; 1 where a latent is closed.
    """

    scene: Scene
    environment: int
    open: BoolArray
    mean: FloatArray
    deviation: FloatArray

    @property
    def nats(self) -> FloatArray:
        """What each latent says of an image, on average."""
        variance = self.deviation**2
        return np.asarray(0.5 * (self.mean**2 + variance - 1 - np.log(variance)).mean(axis=0))

    @property
    def used(self) -> BoolArray:
        """Which latents say something here."""
        return np.asarray(self.nats > USED)


def views(
    learner: Imagines, stream: Stream, n_tasks: int, size: int, batches: Sequence[int] = ()
) -> list[View]:
    """Every scene of the first tasks, as a learner sees it now.

    Args:
        learner: one that describes and draws.
        stream: what it met.
        n_tasks: how many tasks of the stream the learner met.
        size: test images of each scene.
        batches: how many the learner learned in each task. With them a scene is taken for the environment in
            which the learner was while it learned it; without, for the one it takes the test images for.
    """
    found = scenes(stream, n_tasks, size)
    if not isinstance(learner, Situates):
        return [_view(learner, scene, 0) for scene in found]
    names = [scene_of(task) for task in stream.take(n_tasks)]
    home = dict(zip(names, homes(learner.environment_changes() or [], batches), strict=False))
    return [_view(learner, scene, home.get(scene.name, _taken_for(learner, scene))) for scene in found]


def several_views(
    learner: Imagines, stream: Stream, n_tasks: int, size: int, batches: Sequence[int] = ()
) -> list[View]:
    """The same, or a complaint if there is but one."""
    found = views(learner, stream, n_tasks, size, batches)
    if len(found) < 2:
        raise BadInput(
            f"{stream.id} showed one environment; this question needs two, as in --stream environments"
        )
    return found


def homes(changes: Iterable[tuple[int, int]], batches: Sequence[int]) -> list[int]:
    """The environment in which a learner was for most of each task.

    Args:
        changes: after how many batches it moved, and where to; it began in environment 0.
        batches: how many there were in each task.

    Example:
        >>> homes([(103, 1), (190, 2), (203, 0)], [100, 100, 100])
        [0, 1, 0]
    """
    where = np.zeros(sum(batches), np.int64)
    for moved, environment in changes:
        where[moved - 1 :] = environment
    parts = np.split(where, np.cumsum(batches)[:-1]) if len(batches) else []
    return [int(np.bincount(part).argmax()) for part in parts]


def _view(learner: Imagines, scene: Scene, environment: int) -> View:
    mean, deviation = learner.posterior(scene.test.images)
    is_open = np.ones(mean.shape[1], bool)
    if isinstance(learner, Situates):
        is_open = learner.environment_info()[environment].active
    return View(scene, environment, is_open, mean * is_open, np.where(is_open, deviation, 1.0))


def _taken_for(learner: Situates, scene: Scene) -> int:
    """What all test images together speak for; the likeliest environment if they look new."""
    found = learner.infer_environment(scene.test.images)
    return (
        found
        if found >= 0
        else int(learner.environment_probabilities(scene.test.images).mean(axis=0).argmax())
    )


ABOUT_PLACE = 0.5
"""Share of a latent's variance that places must explain for it to stand for them."""


@dataclass(frozen=True)
class Latents:
    """What a learner's latents do in one environment.

    Attributes:
        name: of the environment.
        open: which of them apply there, to the learner.
        used: which of them say something there.
        place: the share of each one's variance that the place of things explains; empty where nothing moves.
    """

    name: str
    open: tuple[bool, ...]
    used: tuple[bool, ...]
    place: tuple[float, ...]

    @property
    def places(self) -> set[int]:
        """The latents that stand for places here."""
        return {n for n, share in enumerate(self.place) if share >= ABOUT_PLACE and self.used[n]}


@dataclass(frozen=True)
class Surroundings:
    """What a learner made of its environments.

    Attributes:
        stages: what it made of each stage; empty for learners that do not look for environments.
        n_batches: batches of all stages together.
        latents: what its latents do in each environment.
    """

    stages: tuple[Stage, ...]
    n_batches: int
    latents: tuple[Latents, ...]

    @property
    def shared(self) -> list[int]:
        """The latents that stand for places wherever things move."""
        moving = [each.places for each in self.latents if each.place]
        return sorted(set.intersection(*moving)) if moving else []

    @property
    def masked(self) -> list[int]:
        """Those of them that are closed wherever nothing moves."""
        still = [each.open for each in self.latents if not each.place]
        return [n for n in self.shared if not any(is_open[n] for is_open in still)]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; None for a delay that never ended."""
        stages = [asdict(stage) for stage in self.stages]
        whole = asdict(summed_up(self.stages, self.n_batches)) if self.stages else None
        latents = [asdict(each) | {"places": sorted(each.places)} for each in self.latents]
        told = {"stages": stages, "detection": whole, "latents": latents}
        plain: dict[str, Any] = _plain({**told, "shared": self.shared, "masked": self.masked})
        return plain


def surroundings(
    learner: Learner, stream: Stream, n_batches: Sequence[int], *, size: int = 1000
) -> Surroundings:
    """Ask a learner that describes what it made of the stages it met.

    Args:
        learner: who is asked; left as found.
        stream: what it met.
        n_batches: how many batches of each stage it learned from.
        size: images of each environment that are looked at.
    """
    check_range("size", size, 1, 1_000_000)
    names = [scene_of(task) for task in stream.take(len(n_batches))]
    stages: list[Stage] = []
    changes = learner.environment_changes() if isinstance(learner, InfersEnvironment) else None
    if changes is not None:
        stages = detection(names, n_batches, changes)
    seen = views(imagining(learner), stream, len(names), size, n_batches)
    return Surroundings(tuple(stages), sum(n_batches), tuple(map(_latents, seen)))


def place_shares(codes: FloatArray, batch: Batch) -> tuple[float, ...]:
    """The share of each code's variance that a smooth function of the place explains; none if nothing moves.

    The function is a polynomial of the third degree, since codes bend towards the edges.
    """
    factors = batch.factors
    if factors is None or not (np.ptp(factors.x) > 0 or np.ptp(factors.y) > 0):
        return ()
    x, y = 2 * factors.x - 1, 2 * factors.y - 1
    terms = np.stack([x**i * y**j for i in range(4) for j in range(4 - i)], axis=1)
    centred = codes - codes.mean(axis=0)
    left = centred - terms @ np.linalg.lstsq(terms, centred, rcond=None)[0]
    total = (centred**2).sum(axis=0)
    explained = 1 - np.divide((left**2).sum(axis=0), total, out=np.ones_like(total), where=total > 1e-12)
    return tuple(np.round(explained, 6).tolist())


def _latents(view: View) -> Latents:
    place = place_shares(view.mean, view.scene.test)
    return Latents(view.scene.name, tuple(view.open.tolist()), tuple(view.used.tolist()), place)


def _plain(value: Any) -> Any:
    """JSON has no number for what is not one."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
