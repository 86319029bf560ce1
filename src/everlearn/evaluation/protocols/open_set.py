"""Does a learner know what it does not know?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.errors import BadInput, check_range
from everlearn.evaluation.novelty import Curve, acceptance, precision_recall, roc, threshold_for
from everlearn.evaluation.protocols.base import (
    MAX_IMAGES,
    known_labels,
    of_labels,
    rejecting,
    some_tasks,
    spread,
    strangers,
)
from everlearn.learners import EditsMemory, EstimatesFactors, Learner
from everlearn.rng import FloatArray
from everlearn.serialization import image_to_json
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

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
        exemplar: the remembered image that it was taken for.
    """

    label: int
    taken_for: int
    novelty: float
    image: Images
    normalised: Images
    exemplar: Images

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; images are packed."""
        return {**vars(self), **{name: image_to_json(getattr(self, name)) for name in PICTURES}}


def mistakes(learner: Learner, new: Batch, scores: FloatArray, threshold: float) -> Iterator[Mistake]:
    """Of each new class that was accepted its most familiar image; nothing for learners without images."""
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
            exemplar=learner.memory.images_of(label)[0],
        )


def _normalised(learner: EstimatesFactors, images: Images) -> Images:
    from everlearn.networks import to_tensor  # reports look at answers without torch
    from everlearn.networks.pose import poses_from_factors, to_canonical, to_images

    aligned = to_images(to_canonical(to_tensor(images), poses_from_factors(learner.estimate(images))))
    return np.asarray(np.clip(np.rint(aligned), 0, 255), np.uint8)


POINTS = 101
"""Points of a curve that are written down."""


@dataclass(frozen=True, eq=False)
class OpenSet:
    """How well images of classes never met are told from images of classes met.

    Attributes:
        roc: share of new images found against share of known ones called new.
        precision_recall: how much of what is called new is, against how much of what is new is found.
        acceptance: the curve of the paper: known images accepted against new ones rejected.
        threshold: the novelty above which an image is called new, chosen on validation images.
        accepted: share of known test images accepted with this threshold.
        rejected: share of new images rejected with it.
        accuracy: share of known test images accepted and answered rightly.
        mistakes: new images that were accepted, the most familiar first; a few, as images.
    """

    n_known: int
    n_new: int
    roc: Curve
    precision_recall: Curve
    acceptance: Curve
    threshold: float
    accepted: float
    rejected: float
    accuracy: float
    mistakes: tuple[Mistake, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The answers as plain JSON values; of each curve its area and a hundred points."""
        curves = {name: _points(getattr(self, name)) for name in ("roc", "precision_recall", "acceptance")}
        return {**vars(self), **curves, "mistakes": [each.to_json() for each in self.mistakes]}


def open_set(
    learner: Learner, stream: Stream, n_tasks: int, *, size: int = 1000, accepted: float = 0.95
) -> OpenSet:
    """Ask a learner how new images look to it: those of classes it met, and those of classes it did not.

    Args:
        learner: one that can say how new an image is.
        stream: what it met; its later tasks bring as many new classes as there are known ones, at most 100.
        n_tasks: how many tasks of the stream the learner met.
        size: images of known classes, and about as many of new ones.
        accepted: share of known validation images that must be accepted; it sets the threshold.
    """
    judge = rejecting(learner)
    check_range("accepted", accepted, 0, 1)
    check_range("size", size, 1, MAX_IMAGES)
    known, new = stream.eval_sample(n_tasks, size), _new_images(stream, n_tasks, size)
    validation = some_tasks(stream, n_tasks, "val", size)
    if not len(validation):
        raise BadInput(f"{stream.id} has no validation images to choose a threshold with; set its split")
    threshold = threshold_for(judge.novelty(validation.images), accepted)
    known_scores, new_scores = judge.novelty(known.images), judge.novelty(new.images)
    is_right = (
        learner.predict(known.images, known.tasks if stream.provides_task_ids else None) == known.labels
    )
    return OpenSet(
        n_known=len(known),
        n_new=len(new),
        roc=roc(known_scores, new_scores),
        precision_recall=precision_recall(known_scores, new_scores),
        acceptance=acceptance(known_scores, new_scores),
        threshold=threshold,
        accepted=float(np.mean(known_scores <= threshold)),
        rejected=float(np.mean(new_scores > threshold)),
        accuracy=float(np.mean(is_right & (known_scores <= threshold))),
        mistakes=tuple(mistakes(learner, new, new_scores, threshold)),
    )


def _new_images(stream: Stream, n_tasks: int, size: int) -> Batch:
    n_classes = min(len(known_labels(stream, n_tasks)), 100, size)
    each = max(1, size // n_classes)
    parts = [of_labels(task.test, new, each) for task, new in strangers(stream, n_tasks, n_classes)]
    return spread(Batch.concatenate(parts), size)


def _points(curve: Curve) -> dict[str, Any]:
    which = np.unique(np.linspace(0, len(curve.x) - 1, min(POINTS, len(curve.x))).astype(int))
    return {"area": curve.area, "x": _rounded(curve.x[which]), "y": _rounded(curve.y[which])}


def _rounded(values: FloatArray) -> list[float]:
    return [float(value) for value in values.round(6)]
