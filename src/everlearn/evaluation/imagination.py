"""What a learner that draws imagines: pictures of latents, and walks along single ones."""

from collections.abc import Sequence

import numpy as np

from everlearn.chance import FloatArray
from everlearn.learners import Generates
from everlearn.streams.batch import Images


def pictures(learner: Generates, latents: FloatArray, environment: int) -> Images:
    """Latents (n, n_latents) drawn as an environment shows them, (n, H, W[, 3])."""
    return np.round(learner.draw(latents, environment) * 255).astype(np.uint8)


def walk(
    learner: Generates, latents: FloatArray, latent: int, values: Sequence[float], environment: int
) -> Images:
    """What is drawn as one latent takes some values and all others stay.

    Args:
        learner: who draws.
        latents: (n_latents,) where the walk begins.
        latent: the number of the one that changes.
        values: what it becomes; there is a picture for each.
        environment: as which pictures are drawn.
    """
    steps = np.repeat(latents[None], len(values), axis=0)
    steps[:, latent] = values
    return pictures(learner, steps, environment)


def tiled(rows: Sequence[Images]) -> Images:
    """Rows of equally many pictures as one large picture without gaps.

    Example:
        >>> tiled([np.zeros((3, 2, 2), np.uint8), np.ones((3, 2, 2), np.uint8)]).shape
        (4, 6)
    """
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows], axis=0)
