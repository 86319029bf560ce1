"""The training loop: every learner on every stream."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from everlearn.errors import BadInput, Notice
from everlearn.learners import HasPosterior, Losses
from everlearn.networks.devices import AUTO, CPU, deterministic, is_available, mixed_precision, resolve_device
from everlearn.networks.tensors import NotFinite
from everlearn.runs.evaluate import evaluate_probes, evaluate_seen_tasks, evaluate_zero_shot
from everlearn.runs.events import Event, RunEnded, RunStarted, TaskEnded, TaskStarted, TrainStep
from everlearn.runs.memory_limits import check_memory, keep_freed_memory
from everlearn.runs.phases import EVALUATE, RENDER, TRAIN, PhaseClock
from everlearn.runs.spec import RunSpec
from everlearn.runs.threads import n_threads, torch_threads
from everlearn.serialization import Tree, digest
from everlearn.streams import Batch, Stream, Task

if TYPE_CHECKING:
    import torch

    from everlearn.evaluation.environment_data import EnvironmentData

DEFAULT_N_TASKS = 20
"""Tasks of an infinite stream if the spec has no n_tasks."""
LOG_EVERY_N_BATCHES = 20
"""Interval of training steps whose losses are logged; on a GPU, other steps are not waited for."""


class Diverged(BadInput):
    """A loss or a weight became infinite or NaN.

    Example:
        >>> spec = RunSpec.make(learner="naive", settings={
        ...     "stream.image_size": 16, "stream.factor_values": 2, "learner.optimizer": "sgd",
        ...     "learner.learning_rate": 1e5, "n_tasks": 1, "batch_size": 8,
        ... })
        >>> events = list(run(spec))
        Traceback (most recent call last):
        ...
        everlearn.runs.loop.Diverged: loss became ... in task 0, epoch 0, batch ...
    """


class InexactResume(Notice):
    """The run continues with other versions or hardware, so its result may differ in the last bits.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", InexactResume)  # rather stop than continue inexactly
        ...     warnings.warn("this machine has another version of torch", InexactResume)
        Traceback (most recent call last):
        ...
        everlearn.runs.loop.InexactResume: this machine has another version of torch
    """


def run(spec: RunSpec) -> Iterator[Event]:
    """Train a learner on a stream and yield events; nothing is written to disk.

    Example:
        >>> spec = RunSpec.make(learner="nearest", settings={"stream.image_size": 16, "n_tasks": 1})
        >>> [event.kind for event in run(spec)][-3:]
        ['scored', 'task-ended', 'run-ended']
    """
    return RunState(spec).events()


@dataclass(frozen=True)
class Cursor:
    """The next step of a run: a task, its phase and, while training, an epoch and a batch."""

    task: int = 0
    phase: Literal["start", "begin", "learn", "evaluate"] = "start"
    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class LossSums:
    """Sums over the batches of the current task."""

    n_batches: int = 0
    n_images: int = 0
    losses: tuple[tuple[str, float], ...] = ()

    def add(self, n_images: int, losses: dict[str, float]) -> "LossSums":
        """The sums including one more batch."""
        sums = dict(self.losses)
        for name, value in losses.items():
            sums[name] = sums.get(name, 0.0) + value
        return LossSums(self.n_batches + 1, self.n_images + n_images, tuple(sums.items()))

    def means(self) -> dict[str, float]:
        """Mean of each loss over the batches."""
        return {name: value / max(1, self.n_batches) for name, value in self.losses}


class RunState:
    """A run in progress: stream, learner and cursor.

    `events` continues from the cursor. After every event that is `checkpointable`, and only then, `state`
    is everything that the rest of the run depends on.

    Args:
        spec: the run.
        resumed: whether the run has started before, perhaps on another machine: if this machine does not
            have the device of the spec, the CPU is used, with a warning.
        threads: CPU threads of torch before it was interrupted.

    Example:
        >>> spec = RunSpec.make(learner="nearest", settings={"stream.factor_values": 2, "n_tasks": 2})
        >>> state = RunState(spec)
        >>> events = state.events()
        >>> while next(events).kind != "task-ended": pass
        >>> state.n_tasks_done, state.learner.footprint().memory
        (1, 327840)
    """

    def __init__(self, spec: RunSpec, *, resumed: bool = False, threads: int | None = None) -> None:
        self.spec, self.device = spec, _device(spec, resumed=resumed)
        mixed_precision(self.device, enabled=spec.amp)  # raises an error if the device has none
        self.stream = spec.stream.build()
        self.n_tasks = _n_tasks(spec, self.stream)
        check_memory(spec, self.stream)
        self.learner = spec.build_learner(self.stream.image_shape, self.device)
        self.cursor, self.loss_sums = Cursor(), LossSums()
        self.phases, self._recorded_threads = PhaseClock(), threads
        self._unread: list[tuple[Cursor, int, Losses]] = []  # losses of steps that may not be finished

    @property
    def n_tasks_done(self) -> int:
        """Tasks that are finished."""
        return self.cursor.task

    @cached_property
    def threads(self) -> int:
        """CPU threads of torch; may measure some training steps."""
        return n_threads(self.spec, self.stream, self.learner, self.device, self._recorded_threads)

    def events(self) -> Iterator[Event]:
        """Run to the end and yield events."""
        keep_freed_memory()
        with deterministic(self.device), torch_threads(self.threads):
            yield from self._events()

    def _events(self) -> Iterator[Event]:
        if self.cursor.phase == "start":
            yield self._run_started()
            self._move(phase="begin")
        while self.cursor.task < self.n_tasks:
            yield from self._task(self.stream.task(self.cursor.task))
        yield self.run_ended()

    def state(self) -> Tree:
        """Everything that the rest of the run depends on."""
        self._read_losses()
        try:
            learner = self.learner.state()
        except NotFinite as error:
            raise self._diverged(str(error), self.cursor) from error
        return {
            "cursor": asdict(self.cursor),
            "loss_sums": asdict(self.loss_sums) | {"losses": dict(self.loss_sums.losses)},
            "learner": learner,
        }

    def load(self, state: Tree) -> None:
        """Continue from a result of `state`."""
        sums = state["loss_sums"]
        self.cursor = Cursor(**state["cursor"])
        self.loss_sums = LossSums(**(sums | {"losses": tuple(sums["losses"].items())}))
        self.learner.load(state["learner"])

    def run_ended(self) -> RunEnded:
        """The last event, with the digest of the current state."""
        return RunEnded(self.n_tasks, digest(self.state())[:32])

    def _run_started(self) -> RunStarted:
        return RunStarted(
            spec=self.spec.hash,
            stream=self.stream.id,
            fingerprint=self.stream.fingerprint(),
            learner=self.spec.learner.name,
            supervision=self.learner.supervision,
            n_tasks=self.n_tasks,
        )

    def _task(self, task: Task) -> Iterator[Event]:
        view = task.for_learner()
        if self.cursor.phase == "begin":
            yield from self._start_task(task)
            with self.phases(TRAIN):
                self.learner.begin(view)
            self._move(phase="learn")
        if self.cursor.phase == "learn":
            yield from self._train(task)
            with self.phases(TRAIN):
                self._read_losses()
                self.learner.end(view)
            self._move(phase="evaluate")
        if (task.index + 1) % self.spec.evaluation.every_n_tasks == 0 or task.index + 1 == self.n_tasks:
            yield from self._evaluate(task.index)
        ended = self._task_ended(task)
        self.cursor, self.loss_sums = Cursor(task.index + 1, "begin"), LossSums()
        yield ended

    def _start_task(self, task: Task) -> Iterator[Event]:
        accuracies: dict[str, float] = {}
        if self.spec.evaluation.forward_transfer and self.learner.is_classifier:
            with self.phases(EVALUATE):
                accuracies = yield from evaluate_zero_shot(self.learner, self.stream, task)
        yield TaskStarted(task.index, task.labels, **accuracies)

    def _train(self, task: Task) -> Iterator[Event]:
        size, first = self.spec.batch_size, self.cursor
        with self.phases(RENDER):
            n_batches = math.ceil(len(task.train) / size)
        if first.batch:  # resumed: an evaluation that was due after the last batch has not happened yet
            yield from self._evaluate_within_task(task.index, first.epoch * n_batches + first.batch)
        for epoch in range(first.epoch, self.spec.epochs):
            images = self._epoch_images(task, epoch)
            for number in range(first.batch if epoch == first.epoch else 0, n_batches):
                batch = images[number * size : (number + 1) * size]
                self._move(epoch=epoch, batch=number + 1)
                with self.phases(TRAIN):
                    losses = self._learn(batch)
                yield TrainStep(task.index, epoch, number, n_batches, len(batch), losses)
                yield from self._evaluate_within_task(task.index, epoch * n_batches + number + 1)

    def _learn(self, batch: Batch) -> dict[str, float]:
        """Train on a batch; returns the losses on the CPU, and on other devices if they are logged."""
        with mixed_precision(self.device, enabled=self.spec.amp):
            self._unread.append((self.cursor, len(batch), self.learner.learn(batch)))
        is_read = self.device.type == "cpu" or (self.cursor.batch - 1) % LOG_EVERY_N_BATCHES == 0
        return self._read_losses() if is_read else {}

    def _read_losses(self) -> dict[str, float]:
        """Wait for all steps, add their losses to the sums and return those of the last step."""
        last: dict[str, float] = {}
        for cursor, n_images, losses in self._unread:
            last = {name: float(value) for name, value in losses.items()}
            self._check_finite(last, cursor)
            self.loss_sums = self.loss_sums.add(n_images, last)
        self._unread = []
        return last

    def _epoch_images(self, task: Task, epoch: int) -> Batch:
        # The order of images in a drifting task is the drift, so it is not shuffled.
        return task.train if task.ordered else task.train.shuffled(self.spec.seed, task.index, epoch)

    def _evaluate_within_task(self, k: int, n_batches: int) -> Iterator[Event]:
        every = self.spec.evaluation.every_n_batches
        if every > 0 and n_batches % every == 0:
            yield from self._evaluate(k, n_batches)

    def _evaluate(self, k: int, n_batches: int | None = None) -> Iterator[Event]:
        if self.learner.is_classifier:
            with self.phases(RENDER):
                sample = self.stream.eval_sample(k + 1, self._n_test_images(k, n_batches))
            with self.phases(EVALUATE):
                yield from evaluate_seen_tasks(self.learner, self.stream, k, sample, n_batches)
        elif isinstance(self.learner, HasPosterior):
            from everlearn.evaluation.environment_data import environment_of

            environment, seed = environment_of(self.stream.task(k)), self.spec.seed
            with self.phases(RENDER):
                data = self._probe_data
            with self.phases(EVALUATE):
                yield from evaluate_probes(
                    self.learner, data, k, environment=environment, seed=seed, n_batches=n_batches
                )

    def _n_test_images(self, k: int, n_batches: int | None) -> int:
        evaluation, is_last = self.spec.evaluation, k + 1 == self.n_tasks and n_batches is None
        return (evaluation.n_final_images if is_last else None) or evaluation.n_images

    @cached_property
    def _probe_data(self) -> "list[EnvironmentData]":
        """Images of every environment of the run, including those not seen yet."""
        from everlearn.evaluation.environment_data import environment_data

        evaluation = self.spec.evaluation
        return environment_data(self.stream, self.n_tasks, evaluation.n_images, evaluation.n_probe_images)

    def _task_ended(self, task: Task) -> TaskEnded:
        footprint = self.learner.footprint()
        return TaskEnded(
            task=task.index,
            n_images=self.loss_sums.n_images,
            losses=self.loss_sums.means(),
            weights_bytes=footprint.weights,
            memory_bytes=footprint.memory,
            flops=self.learner.flops,
        )

    def _move(self, **change: Any) -> None:
        self.cursor = replace(self.cursor, **change)

    def _check_finite(self, losses: dict[str, float], at: Cursor) -> None:
        for name, value in losses.items():
            if not math.isfinite(value):
                raise self._diverged(f"{name} became {value}", at)

    def _diverged(self, problem: str, at: Cursor) -> Diverged:
        where = f"in task {at.task}, epoch {at.epoch}, batch {at.batch - 1}"
        if at.phase == "begin":
            where = f"at the end of task {at.task - 1}"
        return Diverged(
            f"{problem} {where}; resuming from the last checkpoint would fail in the same way: "
            "start a new run with a lower learning rate"
        )


def _device(spec: RunSpec, *, resumed: bool) -> "torch.device":
    if resumed and spec.device != AUTO and not is_available(spec.device):
        warnings.warn(f"there is no {spec.device} here; the CPU is used instead", InexactResume, stacklevel=4)
        return CPU
    return resolve_device(spec.device)


def _n_tasks(spec: RunSpec, stream: Stream) -> int:
    if stream.n_tasks is not None and (spec.n_tasks or 0) > stream.n_tasks:
        raise BadInput(f"n_tasks is {spec.n_tasks}, but {stream.id} has only {stream.n_tasks} tasks")
    return spec.n_tasks or stream.n_tasks or DEFAULT_N_TASKS
