"""The one loop in which every learner meets every stream."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from everlearn.errors import BadInput
from everlearn.evaluation.environment_data import EnvironmentData, environment_data, environment_of
from everlearn.learners import HasPosterior, Losses
from everlearn.networks.tensors import NotFinite
from everlearn.runs import events as tell
from everlearn.runs.evaluate import look_ahead, probe, score
from everlearn.runs.spec import RunSpec
from everlearn.serialization import Tree, digest
from everlearn.streams import Batch, Stream, Task

NO_MEMORY = ("can't allocate memory", "out of memory", "bad_alloc", "could not create a primitive")
"""What torch, and oneDNN inside it, say of memory, in errors that are also raised for other reasons."""


class OutOfMemory(BadInput):
    """The machine has no more memory to give; what was saved is untouched."""


def check_size(spec: RunSpec, stream: Stream) -> None:
    """Refuse what cannot fit before any of it is asked for."""
    pixels = math.prod(stream.image_shape)
    needed = pixels * (spec.evaluation.probe_size + np.dtype(np.float32).itemsize * spec.batch_size)
    there_is = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there_is:
        raise BadInput(
            f"batches of {spec.batch_size:,} and a probe of {spec.evaluation.probe_size:,} images need "
            f"{needed / 1e9:,.0f} GB, but there are {there_is / 1e9:,.0f}; make them or image_size smaller"
        )


@contextmanager
def told_of_memory(folder: Path) -> Iterator[None]:
    """Turn a lack of memory into a sentence."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY):
            raise OutOfMemory(
                f"memory ran out ({error}); nothing saved was lost: free some and go on with "
                f"`everlearn resume {folder}`"
            ) from error
        raise


ENDLESS_TASKS = 20
"""Tasks played of an endless stream if nobody says how many."""


class Diverged(BadInput):
    """A loss or a weight became infinite or not a number; the run cannot go on from here."""


@dataclass(frozen=True)
class Position:
    """What comes next: a task, a phase of it and, while learning, an epoch and a batch."""

    task: int = 0
    phase: Literal["start", "begin", "learn", "score"] = "start"
    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Tally:
    """Sums over the batches of the current task."""

    n_batches: int = 0
    n_images: int = 0
    losses: tuple[tuple[str, float], ...] = ()

    def plus(self, n_images: int, losses: Losses) -> "Tally":
        """The sums with one more batch."""
        sums = dict(self.losses)
        for name, value in losses.items():
            sums[name] = sums.get(name, 0.0) + value
        return Tally(self.n_batches + 1, self.n_images + n_images, tuple(sums.items()))

    def means(self) -> dict[str, float]:
        """The mean of each loss."""
        return {name: value / max(1, self.n_batches) for name, value in self.losses}


class Play:
    """A run in progress: the stream, the learner, and the exact place between them.

    `events` plays on from the present position. At every `safe` event, and nowhere else, `state` is all
    that the rest of the run depends on.

    Args:
        spec: what to play.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.stream = spec.stream.build()
        self.n_tasks = _n_tasks(spec, self.stream)
        check_size(spec, self.stream)
        self.learner = spec.build_learner(self.stream.image_shape)
        self.position, self.tally = Position(), Tally()

    def events(self) -> Iterator[tell.Event]:
        """Play on to the end; say what happens."""
        if self.position.phase == "start":
            yield self._started()
            self._move(phase="begin")
        while self.position.task < self.n_tasks:
            yield from self._task(self.stream.task(self.position.task))
        yield self.ended()

    def state(self) -> Tree:
        """Everything that the rest of the run depends on."""
        try:
            learner = self.learner.state()
        except NotFinite as error:
            raise self._diverged(str(error)) from error
        losses = dict(self.tally.losses)
        return {
            "position": asdict(self.position),
            "tally": asdict(self.tally) | {"losses": losses},
            "learner": learner,
        }

    def load(self, state: Tree) -> None:
        """Go on from a state that `state` gave."""
        self.position = Position(**state["position"])
        self.tally = Tally(**(state["tally"] | {"losses": tuple(state["tally"]["losses"].items())}))
        self.learner.load(state["learner"])

    def ended(self) -> tell.RunEnded:
        """What is told when every task was played."""
        return tell.RunEnded(self.n_tasks, digest(self.state())[:32])

    @cached_property
    def _scenes(self) -> list[EnvironmentData]:
        """What the whole run shows; part of it has not been met yet, and only probes look at it."""
        evaluation = self.spec.evaluation
        return environment_data(self.stream, self.n_tasks, evaluation.probe_size, evaluation.lesson_size)

    def _started(self) -> tell.RunStarted:
        return tell.RunStarted(
            spec=self.spec.hash,
            stream=self.stream.id,
            fingerprint=self.stream.fingerprint(),
            learner=self.spec.learner.name,
            given=self.learner.supervision,
            n_tasks=self.n_tasks,
        )

    def _task(self, task: Task) -> Iterator[tell.Event]:
        view = task.for_learner()
        if self.position.phase == "begin":
            yield from self._start(task)
            self.learner.begin(view)
            self._move(phase="learn")
        if self.position.phase == "learn":
            yield from self._learn(task)
            self.learner.end(view)
            self._move(phase="score")
        if self._is_due(task.index):
            yield from self._score(task.index)
        ended = self._ended(task)
        self.position, self.tally = Position(task.index + 1, "begin"), Tally()
        yield ended

    def _start(self, task: Task) -> Iterator[tell.Event]:
        ahead: dict[str, float] = {}
        if self.spec.evaluation.ahead and self.learner.is_classifier:
            ahead = yield from look_ahead(self.learner, self.stream, task)
        yield tell.TaskStarted(task.index, task.labels, **ahead)

    def _learn(self, task: Task) -> Iterator[tell.Event]:
        size, first = self.spec.batch_size, self.position
        n_batches = math.ceil(len(task.train) / size)
        if first.batch:  # resumed: a scoring that was due after the last batch has not been told yet
            yield from self._score_inside(task.index, first.epoch * n_batches + first.batch)
        for epoch in range(first.epoch, self.spec.epochs):
            images = self._epoch_images(task, epoch)
            for number in range(first.batch if epoch == first.epoch else 0, n_batches):
                batch = images[number * size : (number + 1) * size]
                self._move(epoch=epoch, batch=number + 1)
                losses = self._checked(self.learner.learn(batch))
                self.tally = self.tally.plus(len(batch), losses)
                yield tell.Learned(task.index, epoch, number, n_batches, len(batch), losses)
                yield from self._score_inside(task.index, epoch * n_batches + number + 1)

    def _epoch_images(self, task: Task, epoch: int) -> Batch:
        # A drifting task must be met in its own order, or it is no drift.
        return task.train if task.ordered else task.train.shuffled(self.spec.seed, task.index, epoch)

    def _score(self, k: int, inside: int | None = None) -> Iterator[tell.Event]:
        if self.learner.is_classifier:
            yield from score(self.learner, self.stream, k, self.spec.evaluation.probe_size, inside)
        elif isinstance(self.learner, HasPosterior):
            shown = environment_of(self.stream.task(k))
            yield from probe(self.learner, self._scenes, k, shown=shown, seed=self.spec.seed, inside=inside)

    def _score_inside(self, k: int, n_batches: int) -> Iterator[tell.Event]:
        every = self.spec.evaluation.inside_every
        if every > 0 and n_batches % every == 0:
            yield from self._score(k, inside=n_batches)

    def _ended(self, task: Task) -> tell.TaskEnded:
        held = self.learner.footprint()
        return tell.TaskEnded(
            task=task.index,
            n_images=self.tally.n_images,
            losses=self.tally.means(),
            weights_bytes=held.weights,
            memory_bytes=held.memory,
            flops=self.learner.flops,
        )

    def _is_due(self, k: int) -> bool:
        return (k + 1) % self.spec.evaluation.every == 0 or k + 1 == self.n_tasks

    def _move(self, **change: Any) -> None:
        self.position = replace(self.position, **change)

    def _checked(self, losses: Losses) -> Losses:
        for name, value in losses.items():
            if not math.isfinite(value):
                raise self._diverged(f"{name} became {value}")
        return losses

    def _diverged(self, what: str) -> Diverged:
        here = self.position
        where = f"in task {here.task}, epoch {here.epoch}, batch {here.batch - 1}"
        if here.phase == "begin":
            where = f"at the end of task {here.task - 1}"
        return Diverged(
            f"{what} {where}; the last checkpoint is from before it, but the same would happen again: "
            "start anew with a smaller learning rate"
        )


def play(spec: RunSpec) -> Iterator[tell.Event]:
    """Play a stream to a learner; say what happens. Recording, plotting, progress listen outside.

    Example:
        >>> spec = RunSpec.make(learner="nearest", settings={"stream.image_size": 16, "n_tasks": 1})
        >>> [event.kind for event in play(spec)][-3:]
        ['scored', 'task-ended', 'run-ended']
    """
    return Play(spec).events()


def _n_tasks(spec: RunSpec, stream: Stream) -> int:
    if stream.n_tasks is not None and (spec.n_tasks or 0) > stream.n_tasks:
        raise BadInput(f"n_tasks is {spec.n_tasks}, but {stream.id} has only {stream.n_tasks}; play fewer")
    return spec.n_tasks or stream.n_tasks or ENDLESS_TASKS
