"""Scenes as a learner sees them: for which environment it takes each, and what it says of its pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray
from everlearn.errors import BadInput
from everlearn.evaluation.protocols.powers import Imagines, Situates
from everlearn.evaluation.protocols.scenes import Scene, scene_of, scenes
from everlearn.streams import Stream

BoolArray = npt.NDArray[np.bool_]

USED = 0.1
"""Nats above which a latent says something."""


@dataclass(frozen=True, eq=False)
class View:
    """A scene as a learner sees it.

    Attributes:
        scene: its pictures.
        environment: what the learner takes it for; 0 for learners that tell no environments apart.
        open: which latents apply there.
        mean: (n, n_latents) of its test pictures; 0, as in the prior, where a latent is closed.
        deviation: the same; 1 where a latent is closed.
    """

    scene: Scene
    environment: int
    open: BoolArray
    mean: FloatArray
    deviation: FloatArray

    @property
    def nats(self) -> FloatArray:
        """What each latent says of a picture, on average."""
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
        size: test pictures of each scene.
        batches: how many the learner learned in each task. With them a scene is taken for the environment in
            which the learner was while it learned it; without, for the one it takes the test pictures for.
    """
    found = scenes(stream, n_tasks, size)
    if not isinstance(learner, Situates):
        return [_view(learner, scene, 0) for scene in found]
    names = [scene_of(task) for task in stream.take(n_tasks)]
    home = dict(zip(names, homes(learner.environments.changes, batches), strict=False))
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
    mean, deviation = learner.describe(scene.test.images)
    is_open = np.ones(mean.shape[1], bool)
    if isinstance(learner, Situates):
        is_open = learner.environments.known[environment].mask.copy()
    return View(scene, environment, is_open, mean * is_open, np.where(is_open, deviation, 1.0))


def _taken_for(learner: Situates, scene: Scene) -> int:
    """What all test pictures together speak for; the likeliest environment if they look new."""
    found = learner.infer(scene.test.images)
    return found if found >= 0 else int(learner.chances(scene.test.images).mean(axis=0).argmax())
