"""Samples of a stream for evaluation: images of known tasks, new classes, subsets; and predictions."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from everlearn.errors import BadInput
from everlearn.learners.capabilities import EstimatesFactors
from everlearn.rng import IntArray
from everlearn.streams import Batch, Split, Stream, Task
from everlearn.streams.stream import Images

if TYPE_CHECKING:
    from everlearn.learners import Learner

MAX_TASKS_WITHOUT_NEW = 100
"""Consecutive tasks without a new class after which the search ends."""
MAX_TASKS = 20
"""Tasks that represent all known tasks."""


def predict(learner: "Learner", batch: Batch, stream: Stream | None = None) -> IntArray:
    """Predicted labels; the learner gets task ids only if the stream provides them."""
    is_given = stream is not None and stream.provides_task_ids
    return learner.predict(batch.images, batch.tasks if is_given else None)


def canonical(learner: "Learner", images: Images) -> Images:
    """Images in canonical pose, if the learner estimates factors; otherwise unchanged."""
    if not isinstance(learner, EstimatesFactors):
        return images
    from everlearn.networks import to_tensor  # results are read without torch
    from everlearn.networks.pose import poses_from_factors, to_canonical, to_images

    aligned = to_images(to_canonical(to_tensor(images), poses_from_factors(learner.estimate(images))))
    return np.asarray(np.clip(np.rint(aligned), 0, 255), np.uint8)


def known_labels(stream: Stream, n_tasks: int) -> set[int]:
    """The labels of the first n tasks."""
    return {label for task in stream.take(n_tasks) for label in task.labels}


def new_classes(stream: Stream, n_tasks: int, n_classes: int) -> Iterator[tuple[Task, IntArray]]:
    """Tasks after the first n, each with its labels that did not occur before, until n_classes are found."""
    known, n_found, n_without_new = known_labels(stream, n_tasks), 0, 0
    for k in count(n_tasks) if stream.n_tasks is None else range(n_tasks, stream.n_tasks):
        task = stream.task(k)
        new = [label for label in task.labels if label not in known][: n_classes - n_found]
        n_without_new = 0 if new else n_without_new + 1
        if new:
            yield task, np.array(new)
        known.update(new)
        n_found += len(new)
        if n_found == n_classes or n_without_new == MAX_TASKS_WITHOUT_NEW:
            break
    if n_found < n_classes:
        raise BadInput(
            f"{stream.id} has {n_found} new classes after {n_tasks} tasks, not {n_classes}; "
            "ask for fewer, or train on fewer tasks"
        )


def sample_tasks(stream: Stream, n_tasks: int, split: Split, size: int) -> Batch:
    """At most `size` images of a split, from up to 20 of the first n tasks, evenly spaced."""
    chosen = np.unique(np.linspace(0, n_tasks - 1, min(n_tasks, MAX_TASKS)).astype(int)).tolist()
    parts = ((stream.task(k).split(split), k) for k in chosen)
    with_tasks = [replace(part, tasks=np.full(len(part), k)) for part, k in parts]
    return subsample(Batch.concatenate(with_tasks), size)


def subsample(batch: Batch, size: int) -> Batch:
    """At most `size` evenly spaced rows of a batch."""
    return batch[np.unique(np.linspace(0, len(batch) - 1, min(size, len(batch))).astype(int))]


def first_per_label(batch: Batch, labels: IntArray, n: int | None) -> Batch:
    """The first n rows of each of these labels; all of them if n is None."""
    rows = [np.flatnonzero(batch.labels == label)[:n] for label in labels.tolist()]
    return batch[np.concatenate(rows)]


def new_class_images(
    stream: Stream, n_tasks: int, n_classes: int, n_per_class: int | None = None
) -> tuple[Batch, Batch]:
    """An exemplar and up to n_per_class test images of each of some classes after the first n tasks."""
    found = [
        (first_per_label(task.exemplars, new, 1), first_per_label(task.test, new, n_per_class))
        for task, new in new_classes(stream, n_tasks, n_classes)
    ]
    exemplars, test = (Batch.concatenate(parts) for parts in zip(*found, strict=True))
    if len(exemplars) < n_classes:
        raise BadInput(
            f"{stream.id} has exemplars of only {len(exemplars)} of {n_classes} new classes; all need one"
        )
    return exemplars, test
