"""The one loop in which every learner meets every stream."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from everlearn.errors import BadInput
from everlearn.evaluation import factor_errors
from everlearn.learners import EstimatesFactors
from everlearn.runs import events as tell
from everlearn.runs.spec import RunSpec
from everlearn.runs.state import Tree, digest
from everlearn.streams import Batch, Task

PIECE = 256
"""Images scored between two events, so that progress shows and a signal is heard soon."""


class Diverged(BadInput):
    """A loss became infinite or not a number; the run cannot go on from here."""


@dataclass(frozen=True)
class Position:
    """What comes next: a task, a phase of it and, while learning, an epoch and a batch."""

    task: int = 0
    phase: Literal["begin", "learn", "score"] = "begin"
    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Tally:
    """Sums over the batches of the current task."""

    n_batches: int = 0
    n_images: int = 0
    losses: tuple[tuple[str, float], ...] = ()

    def plus(self, n_images: int, losses: dict[str, float]) -> "Tally":
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

    `events` plays on from the present position; between two `safe` events `state` is all there is to save.

    Args:
        spec: what to play.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec.completed()
        self.stream = self.spec.stream.build()
        self.learner = self.spec.build_learner(self.stream.image_shape)
        self.position, self.tally = Position(), Tally()

    def events(self) -> Iterator[tell.Event]:
        """Play on to the end; say what happens."""
        if self.position == Position():
            yield self._started()
        while self.position.task < self.spec.n_tasks:
            yield from self._task(self.stream.task(self.position.task))
        yield tell.RunEnded(self.spec.n_tasks, self.digest())

    def state(self) -> Tree:
        """Everything that the rest of the run depends on."""
        return {
            "position": asdict(self.position),
            "tally": {**asdict(self.tally), "losses": dict(self.tally.losses)},
            "learner": self.learner.state(),
        }

    def load(self, state: Tree) -> None:
        """Go on from a state that `state` gave."""
        self.position = Position(**state["position"])
        self.tally = Tally(**{**state["tally"], "losses": tuple(state["tally"]["losses"].items())})
        self.learner.load(state["learner"])

    def digest(self) -> str:
        """A hash over the learner and the place in the stream."""
        return digest(self.state())[:32]

    def _started(self) -> tell.RunStarted:
        return tell.RunStarted(
            spec=self.spec.hash,
            stream=self.stream.id,
            fingerprint=self.stream.fingerprint(),
            learner=self.spec.learner.name,
            n_tasks=self.spec.n_tasks,
        )

    def _task(self, task: Task) -> Iterator[tell.Event]:
        view = task.for_learner()
        if self.position.phase == "begin":
            yield tell.TaskStarted(task.index, task.labels, self._accuracy_ahead(task))
            self.learner.begin(view)
            self._move(phase="learn")
        if self.position.phase == "learn":
            yield from self._learn(task)
            self.learner.end(view)
            self._move(phase="score")
        if self._is_due(task.index):
            yield from self._score(task.index)
        ended = self._ended(task)
        self.position, self.tally = Position(task=task.index + 1), Tally()
        yield ended

    def _learn(self, task: Task) -> Iterator[tell.Event]:
        size, first = self.spec.batch_size, self.position
        n_batches = math.ceil(len(task.train) / size)
        if first.batch:  # resumed: a scoring that was due after the last batch has not been told yet
            yield from self._score_inside(task.index, first.epoch * n_batches + first.batch)
        for epoch in range(first.epoch, self.spec.epochs):
            images = self._epoch_images(task, epoch)
            for number in range(first.batch if epoch == first.epoch else 0, n_batches):
                batch = images[number * size : (number + 1) * size]
                losses = self._checked(self.learner.learn(batch), task.index, number)
                self.tally = self.tally.plus(len(batch), losses)
                self._move(epoch=epoch, batch=number + 1)
                yield tell.Learned(task.index, epoch, number, n_batches, len(batch), losses)
                yield from self._score_inside(task.index, epoch * n_batches + number + 1)

    def _epoch_images(self, task: Task, epoch: int) -> Batch:
        # A drifting task must be met in its own order, or it is no drift.
        return task.train if task.ordered else task.train.shuffled(self.spec.seed, task.index, epoch)

    def _score(self, k: int, inside: int | None = None) -> Iterator[tell.Event]:
        probe = self.stream.probe(k + 1, self.spec.evaluation.probe_size)
        answers = []
        for piece in probe.pieces(PIECE):
            answers.append(self._answer(piece))
            yield tell.Scoring(k, sum(map(len, answers)), len(probe))
        yield self._scored(k, probe, np.concatenate(answers), inside)

    def _score_inside(self, k: int, n_batches: int) -> Iterator[tell.Event]:
        every = self.spec.evaluation.inside_every
        if every > 0 and n_batches % every == 0:
            yield from self._score(k, inside=n_batches)

    def _scored(self, k: int, probe: Batch, answers: Any, inside: int | None) -> tell.Scored:
        assert probe.tasks is not None  # every probe knows where its images come from
        tasks, rows = np.unique(probe.tasks, return_inverse=True)
        correct = np.bincount(rows, weights=answers == probe.labels, minlength=len(tasks)).astype(int)
        errors: dict[str, float] = {}
        if isinstance(self.learner, EstimatesFactors) and probe.factors is not None and inside is None:
            errors = factor_errors(self.learner.estimate(probe.images), probe.factors)
        return tell.Scored(
            task=k,
            tasks=tuple(tasks.tolist()),
            correct=tuple(correct.tolist()),
            total=tuple(np.bincount(rows, minlength=len(tasks)).tolist()),
            batch=inside,
            factor_errors=errors,
        )

    def _answer(self, batch: Batch) -> Any:
        return self.learner.predict(batch.images, batch.tasks if self.stream.gives_tasks else None)

    def _accuracy_ahead(self, task: Task) -> float | None:
        """Accuracy on a task before it is learned, for forward transfer."""
        if not self.spec.evaluation.ahead or not len(task.test):
            return None
        return float(np.mean(self._answer(task.test) == task.test.labels))

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
        every = self.spec.evaluation.every
        return (k + 1) % every == 0 or k + 1 == self.spec.n_tasks

    def _move(self, **change: Any) -> None:
        self.position = replace(self.position, **change)

    def _checked(self, losses: dict[str, float], k: int, number: int) -> dict[str, float]:
        for name, value in losses.items():
            if not math.isfinite(value):
                raise Diverged(
                    f"{name} became {value} in task {k}, batch {number}; the last checkpoint is sound: "
                    "resume cannot help, start again with a smaller learning rate"
                )
        return losses


def play(spec: RunSpec) -> Iterator[tell.Event]:
    """Play a stream to a learner; say what happens. Recording, plotting, progress listen outside."""
    return Play(spec).events()
