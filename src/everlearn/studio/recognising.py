"""What a learner makes of one picture: how it sees it, what it takes it for, how sure it is."""

from functools import cache
from typing import Any

import numpy as np

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.learners import Learner
from everlearn.learners.base.recogniser import Recogniser
from everlearn.networks import to_tensor
from everlearn.networks.alignment import fit_all
from everlearn.networks.similarity import inverse, poses_of
from everlearn.networks.warp import normalise, to_bytes, to_pictures
from everlearn.streams.batch import Images
from everlearn.studio.pixels import data_url

LEADING = 6
"""Remembered pictures that are shown beside the answer."""


@cache
def remembers(name: str) -> bool:
    """Whether a learner keeps pictures of what it knows; False for one that is not known here.

    Example:
        >>> remembers("dcl"), remembers("er")
        (True, False)
    """
    return name in learners.names() and issubclass(learners.learner_class(name), Recogniser)


def recognised(learner: Learner, picture: Images) -> dict[str, Any]:
    """The picture as the learner turns it upright, the pictures most like it, and how new it seems.

    Args:
        learner: one that recognises by what it remembers.
        picture: (H, W) or (H, W, 3), of the learner's own size.
    """
    if not isinstance(learner, Recogniser):
        raise BadInput("this learner does not answer with a picture it remembers; try a record of dcl")
    if not len(learner.memory):
        raise BadInput("this learner remembers nothing; add a class on the memory page first")
    images = picture[None]
    answer, novelty = int(learner.predict(images)[0]), float(learner.novelty(images)[0])
    factors = learner.estimate(images)
    upright = normalise(to_tensor(images), poses_of(factors))
    return {
        "label": answer,
        "name": learner.memory.name(answer),
        "novelty": novelty,
        "factors": dict(zip(("scale", "angle", "x", "y"), factors.array()[0].tolist(), strict=True)),
        "seen": data_url(picture),
        "upright": data_url(to_bytes(upright)[0]),
        "leading": _leading(learner, images, to_pictures(upright), inverse(poses_of(factors))),
    }


def _leading(learner: Recogniser, images: Images, upright: Any, way: Any) -> list[dict[str, Any]]:
    """The nearest remembered pictures, each fitted to the given one, best first."""
    memory, (height, width) = learner.memory, images.shape[1:3]
    learner.lookup.follow(memory)
    rows, _ = learner.lookup.candidates(upright, LEADING)
    misfits, best = np.empty(rows.shape), np.empty((1, 4))
    ways = np.repeat(way.double().numpy()[:, None], rows.shape[1], axis=1)
    remembered = memory.images.reshape(len(memory), height, width, -1)
    fit_all(images.reshape(1, height, width, -1), remembered, rows, ways, misfits, best)
    # Per pixel and in gray levels, because a sum of squares over a picture says nothing to anybody.
    residuals = np.sqrt(misfits[0] / images.size)
    found = [(float(residuals[i]), int(row)) for i, row in enumerate(rows[0])]
    return [
        {
            "label": int(memory.labels[row]),
            "name": memory.name(int(memory.labels[row])),
            "residual": residual,
            "picture": data_url(memory.images[row]),
        }
        for residual, row in sorted(found)
    ]
