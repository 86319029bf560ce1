"""Plans of runs that meet a budget of bytes, training FLOPs or training images.

Costs are measured with the real learner in short pilot runs, which train on a few batches of each task, and
extrapolated: FLOPs of a task are affine in its batches and in the size of the memory, and grow linearly over
tasks. Bytes are measured after all labels were seen, since heads grow in powers of two.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from everlearn.errors import BadInput
from everlearn.evaluation.formatting import format_amount, format_bytes
from everlearn.evaluation.protocols.answer_cost import AnswerCost, AnswerCostResult
from everlearn.learners import Learner
from everlearn.memory.base import ReplayBuffer
from everlearn.runs.loop import RunState
from everlearn.runs.spec import LearnerSpec, RunSpec
from everlearn.streams import Batch, Task

SIZES: Mapping[str, tuple[int, int]] = {"memory_size": (128, 256), "n_exemplars": (1, 2)}
"""Settings that set the size of a memory, and two values of them that pilot runs fill."""
N_TASKS, N_IMAGES = 4, 128
"""Tasks of a pilot run for FLOPs, and training images of each; some pilot runs have twice as many."""
N_LABEL_TASKS = 100
"""Maximum tasks of the pilot run for bytes; bytes of further tasks are extrapolated from its second half."""
MAX_EPOCHS = 10_000

Progress = Callable[[float, int, str], None]


@dataclass(frozen=True)
class Budget:
    """Maximum bytes of weights and memory, training FLOPs and training images; None: unlimited."""

    n_bytes: float | None = None
    flops: float | None = None
    images: float | None = None


@dataclass(frozen=True)
class BudgetPlan:
    """A run that meets a budget, and its costs."""

    spec: RunSpec
    settings: Mapping[str, Any]  # the chosen ones, by dotted names
    n_bytes: float
    flops: float
    images: int
    answer: AnswerCostResult  # of a learner that knows all labels of the pilot run


class Usage(NamedTuple):
    """FLOPs of one task in `learn` and elsewhere, and bytes after it."""

    learn: float
    other: float
    n_bytes: float


def make_plan(spec: RunSpec, budget: Budget, progress: Progress = lambda *_: None) -> BudgetPlan:
    """The largest memory and the most epochs with which a run meets a budget.

    The size of the memory follows from the bytes, the number of epochs from FLOPs and images; what the budget
    does not limit stays as it is.

    Example:
        >>> settings = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 3, "batch_size": 8}
        >>> spec = RunSpec.make(learner="er", settings=settings)
        >>> plan = make_plan(spec, Budget(n_bytes=1_250_000, images=1000))
        >>> plan.settings, plan.images, plan.n_bytes <= 1_250_000
        ({'learner.memory_size': 80, 'epochs': 2}, 840, True)
    """
    if budget == Budget():
        raise BadInput("no budget is given; give bytes, flops or images")
    costs = Costs(spec, progress)
    chosen: dict[str, Any] = {}
    if budget.n_bytes is not None:
        chosen |= costs.fit_memory(budget.n_bytes)
    size = next(iter(chosen.values()), costs.size)
    if budget.flops is not None or budget.images is not None:
        chosen["epochs"] = costs.fit_epochs(budget, size)
    epochs = chosen.get("epochs", spec.epochs)
    return BudgetPlan(
        spec=with_settings(spec, chosen),
        settings=chosen,
        n_bytes=costs.n_bytes(size),
        flops=costs.flops(epochs, size),
        images=costs.n_images * epochs,
        answer=costs.answer,
    )


def with_settings(spec: RunSpec, settings: Mapping[str, Any]) -> RunSpec:
    """A copy of a spec with other settings of the learner or the run, by dotted names."""
    own = {name.removeprefix("learner."): value for name, value in settings.items() if "." in name}
    rest = {name: value for name, value in settings.items() if "." not in name}
    learner = LearnerSpec(name=spec.learner.name, settings={**spec.learner.settings, **own})
    return spec.model_copy(update={"learner": learner, **rest})


class Costs:
    """Bytes and FLOPs of a run as functions of its epochs and of the size of its memory."""

    def __init__(self, spec: RunSpec, progress: Progress) -> None:
        self.spec, self._progress = spec, progress
        self._state = RunState(spec)
        self.n_tasks, task = self._state.n_tasks, self._state.stream.task(0)
        self._n, self._n_labels = len(task.train), len(task.labels)
        self.size_setting = next((name for name in SIZES if name in spec.learner.settings), None)
        self._n_pilot_images = min(max(N_IMAGES, 2 * spec.batch_size), max(1, self._n // 2))

    @property
    def n_images(self) -> int:
        """Training images of one epoch of all tasks."""
        return self._n * self.n_tasks

    @property
    def size(self) -> int:
        """The size of the memory in the spec; 0 if the learner has no such setting."""
        return int(self.spec.learner.settings[self.size_setting]) if self.size_setting else 0

    def fit_memory(self, n_bytes: float) -> dict[str, int]:
        """The largest memory within some bytes; raises an error if there is none."""
        name = self.spec.learner.name
        smallest = self.n_bytes(1 if self.size_setting else 0)
        if smallest > n_bytes:
            raise BadInput(
                f"{name} needs {format_bytes(smallest)} after {self.n_tasks} tasks with the smallest memory, "
                f"but the budget is {format_bytes(n_bytes)}; raise it, or choose a smaller network"
            )
        if not self.size_setting:
            return {}
        low, high = 1, self.n_images if self.size_setting == "memory_size" else self._n // self._n_labels
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.n_bytes(middle) <= n_bytes else (low, middle - 1)
        return {f"learner.{self.size_setting}": low}

    def fit_epochs(self, budget: Budget, size: int) -> int:
        """The most epochs within FLOPs and images; raises an error if one epoch exceeds the budget."""
        other, once = self.flops(0, size), self.flops(1, size)
        flops, images = (math.inf if each is None else each for each in (budget.flops, budget.images))
        if once > flops or self.n_images > images:
            raise BadInput(
                f"one epoch takes {format_amount(once)} FLOPs and {format_amount(self.n_images)} images, "
                "more than the budget; raise it, or reduce the tasks or their images"
            )
        steps = (flops - other) / (once - other) if once > other else math.inf
        return int(min(steps, images / self.n_images, MAX_EPOCHS))

    def flops(self, epochs: int, size: int) -> float:
        """FLOPs of training."""
        rows = [self._task(k, size) for k in range(len(self._pilot))]
        totals = [extrapolated_sum([row[i] for row in rows], self.n_tasks) for i in (0, 1)]
        return epochs * totals[0] + totals[1]

    def _task(self, k: int, size: int) -> tuple[float, float]:
        """FLOPs of task k in `learn` and elsewhere, affine in images and size."""
        first, more, larger = self._pilot[k], self._more_images[k], self._larger_memory[k]
        n = self._n_pilot_images
        per_image = (self._n - n) / max(1, min(2 * n, self._n) - n)
        small, large = SIZES[self.size_setting] if self.size_setting else (0, 1)
        per_size = (size - small) / (large - small) if self.size_setting else 0.0
        learn = first.learn + per_image * (more.learn - first.learn) + per_size * (larger.learn - first.learn)
        return max(0.0, learn), max(0.0, first.other + per_size * (larger.other - first.other))

    def n_bytes(self, size: int) -> float:
        """Bytes of weights and memory after all tasks."""
        learner, total = self._labels
        buffers = [part for part in _parts(learner) if isinstance(part, ReplayBuffer)]
        if stored := sum(map(len, buffers)):
            held = sum(buffer.nbytes for buffer in buffers)
            capacity = size if self.size_setting else max(buffer.capacity for buffer in buffers)
            return total - held + held / stored * min(capacity, self.n_images)
        if not self.size_setting:
            return total
        small, large = SIZES[self.size_setting]
        growth = self._larger_memory[-1].n_bytes - self._pilot[-1].n_bytes
        per_size = growth / (large - small) / len(self._pilot)
        return total + per_size * self.n_tasks * (size - self.size)

    @cached_property
    def answer(self) -> AnswerCostResult:
        """The cost of an answer of a learner that has seen the labels of the pilot run."""
        learner, _ = self._labels
        return AnswerCost().run(learner, self._state.stream, min(self.n_tasks, N_LABEL_TASKS))

    @cached_property
    def _pilot(self) -> list[Usage]:
        return self._run_pilot(self._n_pilot_images, 0)

    @cached_property
    def _more_images(self) -> list[Usage]:
        return self._run_pilot(min(2 * self._n_pilot_images, self._n), 0)

    @cached_property
    def _larger_memory(self) -> list[Usage]:
        return self._run_pilot(self._n_pilot_images, 1) if self.size_setting else self._pilot

    def _run_pilot(self, n_images: int, size_index: int) -> list[Usage]:
        """The usage of the first tasks with some images each and one of two sizes of the memory."""
        size = (
            {f"learner.{self.size_setting}": SIZES[self.size_setting][size_index]}
            if self.size_setting
            else {}
        )
        state = RunState(with_settings(self.spec, size))
        tasks = [state.stream.task(k) for k in range(min(self.n_tasks, N_TASKS))]
        return list(self._train(state, iter(tasks), len(tasks), n_images))

    @cached_property
    def _labels(self) -> tuple[Learner, float]:
        """A learner that has seen one image of each label, and its bytes after all tasks."""
        n = min(self.n_tasks, N_LABEL_TASKS)
        stream = self._state.stream
        usage = list(self._train(self._state, (_labels_only(stream.task(k)) for k in range(n)), n))
        rest, half = self.n_tasks - n, n // 2
        growth = (usage[-1].n_bytes - usage[half - 1].n_bytes) / (n - half) if rest else 0.0
        return self._state.learner, usage[-1].n_bytes + rest * growth

    def _train(
        self, state: RunState, tasks: Iterator[Task], n_tasks: int, n_images: int | None = None
    ) -> Iterator[Usage]:
        """Train on the first images of each task, or all; `begin` and `end` get the whole task."""
        learner = state.learner
        for task in tasks:
            view, start = task.for_learner(), learner.flops
            learner.begin(view)
            after_begin = learner.flops
            images = task.train if task.ordered else task.train.shuffled(self.spec.seed, task.index, 0)
            for batch in images[:n_images].batches(self.spec.batch_size):
                learner.learn(batch)
            after_learn = learner.flops
            learner.end(view)
            footprint = learner.footprint()
            other = learner.flops - after_learn + after_begin - start
            yield Usage(after_learn - after_begin, other, footprint.weights + footprint.memory)
            self._progress(task.index + 1, n_tasks, "pilot run")


def extrapolated_sum(values: list[float], n: int) -> float:
    """The sum of n values: the given ones, and others that continue the last two linearly.

    Example:
        >>> extrapolated_sum([1.0, 2.0, 4.0], 5)
        21.0
    """
    step = values[-1] - values[-2] if len(values) > 1 else 0.0
    rest = n - len(values)
    return math.fsum(values) + rest * values[-1] + step * rest * (rest + 1) / 2


def _parts(learner: Learner) -> list[Any]:
    return [getattr(learner, name) for name in learner.used_parts]


def _labels_only(task: Task) -> Task:
    """The task with one training image of each label."""
    if set(task.exemplars.labels.tolist()) == set(task.labels):
        return _with_train(task, task.exemplars)
    rows = {int(label): row for row, label in enumerate(task.train.labels)}
    return _with_train(task, task.train[sorted(rows.values())])


def _with_train(task: Task, train: Batch) -> Task:
    return replace(task, load_split=lambda name: train if name == "train" else task.split(name))
