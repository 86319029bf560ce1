"""What each latent stands for: images in which it alone changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.errors import check_range
from everlearn.evaluation.protocols.base import MAX_IMAGES, Imagines, imagining
from everlearn.evaluation.protocols.environments import BoolArray, View, views
from everlearn.learners import Generates, Learner
from everlearn.rng import FloatArray
from everlearn.serialization import image_to_json
from everlearn.streams import Stream
from everlearn.streams.stream import Images


def images(learner: Generates, latents: FloatArray, environment: int) -> Images:
    """Latents (n, n_latents) drawn as an environment shows them, (n, H, W[, 3])."""
    return np.round(learner.decode(latents, environment) * 255).astype(np.uint8)


def walk(
    learner: Generates, latents: FloatArray, latent: int, values: Sequence[float], environment: int
) -> Images:
    """What is drawn as one latent takes some values and all others stay.

    Args:
        learner: who draws.
        latents: (n_latents,) where the walk begins.
        latent: the number of the one that changes.
        values: what it becomes; there is an image for each.
        environment: as which images are drawn.
    """
    steps = np.repeat(latents[None], len(values), axis=0)
    steps[:, latent] = values
    return images(learner, steps, environment)


def tiled(rows: Sequence[Images]) -> Images:
    """Rows of equally many images as one large image without gaps.

    Example:
        >>> tiled([np.zeros((3, 2, 2), np.uint8), np.ones((3, 2, 2), np.uint8)]).shape
        (4, 6)
    """
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows], axis=0)


VALUES = tuple(np.linspace(-2, 2, 7).tolist())
"""What a latent becomes; nearly all of N(0, 1) lies between the ends."""
SPARE = 2
"""Latents that say nothing anywhere are alike, so that a few stand for all."""


@dataclass(frozen=True, eq=False)
class Walks:
    """The latents in one environment.

    Attributes:
        name: of the environment, as the stream calls it.
        environment: what the learner takes it for.
        open: which latents apply there, all of them in their own order.
        nats: what each says of an image there, on average.
        seed: the image from which every walk begins.
        images: a row for each latent that is shown, a column for each value, as one image.
    """

    name: str
    environment: int
    open: BoolArray
    nats: FloatArray
    seed: Images
    images: Images

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; images are packed."""
        return {
            "name": self.name,
            "environment": self.environment,
            "open": self.open.tolist(),
            "nats": self.nats.round(4).tolist(),
            "seed": image_to_json(self.seed),
            "images": image_to_json(self.images),
        }


@dataclass(frozen=True, eq=False)
class Traversal:
    """Walks along latents in every environment.

    Attributes:
        values: what a latent becomes, from left to right.
        latents: which are shown, from top to bottom: those in use, most telling first, then a few spare ones.
        n_used: how many of them are in use in some environment.
        n_spare: how many are in use in none, shown or not.
        walks: what is drawn, for each environment.
    """

    values: tuple[float, ...]
    latents: tuple[int, ...]
    n_used: int
    n_spare: int
    walks: tuple[Walks, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**vars(self), "walks": [each.to_json() for each in self.walks]}


def traversal(
    learner: Learner,
    stream: Stream,
    n_tasks: int,
    *,
    image: int = 0,
    size: int = 500,
    batches: Sequence[int] = (),
) -> Traversal:
    """Draw an image of each environment again and again, while one latent goes from -2 to 2.

    A latent that is closed in an environment is walked all the same: it should change nothing there.

    Args:
        learner: one that describes and draws.
        stream: what it met.
        n_tasks: how many tasks of the stream the learner met.
        image: the number of the test image from which walks begin; after the last comes the first.
        size: test images by which it is decided what a latent says.
        batches: how many it learned in each task, which tells the environments where it learned them.
    """
    artist = imagining(learner)
    check_range("image", image, 0, MAX_IMAGES)
    check_range("size", size, 1, MAX_IMAGES)
    seen = views(artist, stream, n_tasks, size, batches)
    latents, n_used = _shown(seen)
    n_spare = len(seen[0].open) - n_used
    walks = tuple(_walks(artist, view, latents, image) for view in seen)
    return Traversal(VALUES, latents, n_used, n_spare, walks)


def _shown(seen: list[View]) -> tuple[tuple[int, ...], int]:
    """The latents in use, most telling first, then some that are not; and how many are in use."""
    most = np.max([view.nats for view in seen], axis=0)
    n_used = int(np.any([view.used for view in seen], axis=0).sum())
    return tuple(np.argsort(-most, kind="stable")[: n_used + SPARE].tolist()), n_used


def _walks(artist: Imagines, view: View, latents: tuple[int, ...], image: int) -> Walks:
    row = image % len(view.mean)
    return Walks(
        name=view.scene.name,
        environment=view.environment,
        open=view.open,
        nats=view.nats,
        seed=view.scene.test.images[row],
        images=tiled([walk(artist, view.mean[row], n, VALUES, view.environment) for n in latents]),
    )
