"""The strangers that a learner took for somebody it knows, kept as pictures."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.chance import FloatArray
from everlearn.evaluation.pictures import packed
from everlearn.learners import EditsMemory, EstimatesFactors, Learner
from everlearn.streams import Batch
from everlearn.streams.batch import Images

SHOWN = 8
"""Classes of which a mistake is shown at most."""
PICTURES = ("image", "normalised", "exemplar")


@dataclass(frozen=True, eq=False)
class Mistake:
    """An image of a class never met that was accepted.

    Attributes:
        label: what it shows.
        taken_for: what it was taken for.
        novelty: how new it looked.
        image: what was shown.
        normalised: what the learner made of it, in the canonical frame.
        exemplar: the remembered picture that it was taken for.
    """

    label: int
    taken_for: int
    novelty: float
    image: Images
    normalised: Images
    exemplar: Images

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; pictures are packed."""
        return {**vars(self), **{name: packed(getattr(self, name)) for name in PICTURES}}


def mistakes(learner: Learner, new: Batch, scores: FloatArray, threshold: float) -> Iterator[Mistake]:
    """Of each new class that was accepted its most familiar image; nothing for learners without pictures."""
    if not (isinstance(learner, EditsMemory) and isinstance(learner, EstimatesFactors)):
        return
    order = np.argsort(scores, kind="stable")
    accepted = order[scores[order] <= threshold]
    worst = accepted[np.sort(np.unique(new.labels[accepted], return_index=True)[1])][:SHOWN]
    some, novelty = new[worst], scores[worst]
    if not len(some):
        return
    taken, upright = learner.predict(some.images), _normalised(learner, some.images)
    for number, label in enumerate(taken.tolist()):
        yield Mistake(
            label=int(some.labels[number]),
            taken_for=label,
            novelty=float(novelty[number]),
            image=some.images[number],
            normalised=upright[number],
            exemplar=learner.memory.pictures(label)[0],
        )


def _normalised(learner: EstimatesFactors, images: Images) -> Images:
    from everlearn.networks import to_tensor  # reports look at answers without torch
    from everlearn.networks.similarity import poses_of
    from everlearn.networks.warp import normalise, to_pictures

    pictures = to_pictures(normalise(to_tensor(images), poses_of(learner.estimate(images))))
    return np.asarray(np.clip(np.rint(pictures), 0, 255), np.uint8)
