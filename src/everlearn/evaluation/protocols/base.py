"""Images of what a learner has met, and of what it has not."""

from collections.abc import Iterator
from itertools import count
from typing import Protocol, runtime_checkable

import numpy as np

from everlearn.errors import BadInput
from everlearn.learners import (
    EditsMemory,
    Encodes,
    Generates,
    HasPosterior,
    InfersEnvironment,
    Learner,
    Rejects,
)
from everlearn.memory import ExemplarMemory
from everlearn.rng import IntArray
from everlearn.streams import Batch, Split, Stream, Task


@runtime_checkable
class Imagines(HasPosterior, Generates, Protocol):
    """Has a posterior over latents and decodes latents to images."""


@runtime_checkable
class Situates(Imagines, InfersEnvironment, Protocol):
    """The same, and infers environments."""


def editable_memory(learner: Learner) -> ExemplarMemory:
    """The memory that people may edit, or a complaint if this learner keeps none."""
    if not isinstance(learner, EditsMemory):
        raise BadInput(f"{_name(learner)} keeps no memory that can be edited; dcl does, for one")
    return learner.memory


def rejecting(learner: Learner) -> Rejects:
    """The learner as one that can say "I do not know this", or a complaint if it cannot."""
    if not isinstance(learner, Rejects):
        raise BadInput(f"{_name(learner)} cannot say that it does not know; dcl can, for one")
    return learner


def encoding(learner: Learner) -> Encodes:
    """The learner as one that describes images by numbers, or a complaint if it does not."""
    if not isinstance(learner, Encodes):
        raise BadInput(f"{_name(learner)} does not describe images by numbers; vase does, for one")
    return learner


def imagining(learner: Learner) -> Imagines:
    """The learner as one that describes and draws, or a complaint if it does not."""
    if not isinstance(learner, Imagines):
        raise BadInput(f"{_name(learner)} describes and draws nothing; vase and cci-vae do")
    return learner


def situated(learner: Learner) -> Situates:
    """The learner as one that tells environments apart, or a complaint if it does not."""
    if not isinstance(learner, Situates):
        raise BadInput(f"{_name(learner)} tells no environments apart; vase does")
    return learner


def _name(learner: Learner) -> str:
    return type(learner).__name__


MAX_IMAGES = 1_000_000

BARREN = 100
"""Tasks in a row without a new class after which we stop looking for one."""
TASKS = 20
"""Tasks that stand for all when images come task by task."""


def known_labels(stream: Stream, n_tasks: int) -> set[int]:
    """The labels of the first n tasks."""
    return {label for task in stream.take(n_tasks) for label in task.labels}


def strangers(stream: Stream, n_tasks: int, n_classes: int) -> Iterator[tuple[Task, IntArray]]:
    """Tasks after the first n, each with the labels in it that are new, until there are enough labels."""
    known, found, barren = known_labels(stream, n_tasks), 0, 0
    for k in count(n_tasks) if stream.n_tasks is None else range(n_tasks, stream.n_tasks):
        task = stream.task(k)
        new = [label for label in task.labels if label not in known][: n_classes - found]
        barren = 0 if new else barren + 1
        if new:
            yield task, np.array(new)
        known.update(new)
        found += len(new)
        if found == n_classes or barren == BARREN:
            break
    if found < n_classes:
        raise BadInput(
            f"{stream.id} has {found} classes left after {n_tasks} tasks, not {n_classes}; "
            "ask for fewer, or play fewer tasks"
        )


def some_tasks(stream: Stream, n_tasks: int, split: Split, size: int) -> Batch:
    """At most `size` images of a split, from up to 20 tasks spread evenly over the first n."""
    chosen = np.unique(np.linspace(0, n_tasks - 1, min(n_tasks, TASKS)).astype(int)).tolist()
    parts = [_with_task(stream.task(k).split(split), k) for k in chosen]
    return spread(Batch.concatenate(parts), size)


def spread(batch: Batch, size: int) -> Batch:
    """At most `size` rows, spread evenly over the batch."""
    return batch[np.unique(np.linspace(0, len(batch) - 1, min(size, len(batch))).astype(int))]


def of_labels(batch: Batch, labels: IntArray, each: int) -> Batch:
    """The first `each` rows of every one of these labels."""
    rows = [np.flatnonzero(batch.labels == label)[:each] for label in labels.tolist()]
    return batch[np.concatenate(rows)]


def _with_task(batch: Batch, k: int) -> Batch:
    return Batch(batch.images, batch.labels, batch.factors, np.full(len(batch), k))
