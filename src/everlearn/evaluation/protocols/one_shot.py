"""One image of a new class, and then: is it recognised?"""

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from everlearn.errors import BadInput, check_range
from everlearn.evaluation.protocols.base import MAX_IMAGES, editable_memory, of_labels, strangers
from everlearn.learners import Learner
from everlearn.streams import Batch, Stream

COUNTS = (10, 100, 1000)
MAX_CLASSES = 100_000


@dataclass(frozen=True)
class Shots:
    """Accuracies with a number of new classes in memory, one image each.

    Attributes:
        n_new: the new classes.
        n_images: images of new classes that were asked about.
        standard: accuracy on them if the memory holds nothing else.
        generalised: accuracy on them if the memory holds all old classes as well.
        old: accuracy on images of old classes with the new ones beside them.
    """

    n_new: int
    n_images: int
    standard: float
    generalised: float
    old: float


@dataclass(frozen=True)
class OneShot:
    """The answers for each number of new classes."""

    n_old: int
    shots: tuple[Shots, ...]

    def to_json(self) -> dict[str, Any]:
        """The answers as plain JSON values."""
        return {"n_old": self.n_old, "shots": [asdict(each) for each in self.shots]}


def one_shot(
    learner: Learner, stream: Stream, n_tasks: int, *, counts: Sequence[int] = COUNTS, size: int = 1000
) -> OneShot:
    """Show a learner one image of each of some new classes; ask for them in other poses.

    Nothing is trained. Standard asks with only the new classes in memory, generalised with the old ones
    there too (Dziadzio et al. 2023, section 5.7).

    Args:
        learner: with an editable memory; left as it was.
        stream: what it met; its later tasks bring the new classes.
        n_tasks: how many tasks of the stream the learner met.
        counts: numbers of new classes.
        size: images asked about, or one of each new class if there are more classes.
    """
    memory, sizes = editable_memory(learner), _checked(counts)
    check_range("size", size, 1, MAX_IMAGES)
    n_old = len(memory.classes())
    # Found for each count anew: equal counts give equal answers whatever else is asked.
    lessons = [_lesson(stream, n_tasks, n, max(1, size // n)) for n in sizes]
    before, known = copy.deepcopy(learner.state()), stream.eval_sample(n_tasks, size)
    try:
        return OneShot(n_old, tuple(_shots(learner, *lesson, known, before) for lesson in lessons))
    finally:
        learner.load(before)


def _shots(learner: Learner, shown: Batch, asked: Batch, known: Batch, before: dict[str, Any]) -> Shots:
    learner.load(before)
    memory = editable_memory(learner)
    old_labels = memory.classes()
    memory.add(shown)
    generalised, old = _accuracy(learner, asked), _accuracy(learner, known)
    for label in old_labels:
        memory.forget(label)
    return Shots(len(shown), len(asked), _accuracy(learner, asked), generalised, old)


def _lesson(stream: Stream, n_tasks: int, n_new: int, each: int) -> tuple[Batch, Batch]:
    """One image of each new class, and images of them to ask about."""
    found = [
        (of_labels(task.exemplars, new, 1), of_labels(task.test, new, each))
        for task, new in strangers(stream, n_tasks, n_new)
    ]
    shown, asked = (Batch.concatenate(parts) for parts in zip(*found, strict=True))
    if len(shown) < n_new:
        raise BadInput(
            f"{stream.id} has exemplars of {len(shown)} of {n_new} new classes; one-shot needs all"
        )
    return shown, asked


def _accuracy(learner: Learner, batch: Batch) -> float:
    return float(np.mean(learner.predict(batch.images) == batch.labels))


def _checked(counts: Sequence[int]) -> tuple[int, ...]:
    for n in counts:
        if not 1 <= n <= MAX_CLASSES:
            raise BadInput(f"{n} new classes cannot be asked for; give numbers from 1 to {MAX_CLASSES:,}")
    return tuple(counts)
