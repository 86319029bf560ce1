"""Checks of streams: purity, splits, labels, evaluation samples."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams import SPLITS, Batch, Stream, StreamSettings, Task
from everlearn.testing.contract import ensure
from everlearn.testing.learner_checks import run_check

N_TASKS = 5


class StreamTrial:
    """A stream and its first tasks, whose batches are loaded once for all checks.

    Example:
        >>> trial = StreamTrial(streams.sprites(image_size=16, factor_values=2), n_tasks=3)
        >>> [task.index for task in trial.tasks]
        [0, 1, 2]
        >>> run_check(STREAM_CHECKS[0], trial)
        'A stream has an id with a version, an image shape, and a number of tasks or None.'
    """

    def __init__(self, stream: Stream, n_tasks: int = N_TASKS) -> None:
        self.stream, self.name = stream, getattr(stream, "id", type(stream).__name__)
        self._max_tasks = n_tasks

    @property
    def n_tasks(self) -> int:
        """The number of tasks that are checked."""
        n = self.stream.n_tasks
        return self._max_tasks if n is None else min(self._max_tasks, n)

    @cached_property
    def tasks(self) -> list[Task]:
        """The first tasks."""
        return list(self.stream.take(self.n_tasks))


def batches(task: Task) -> list[Batch]:
    """All splits of a task, and its exemplars."""
    return [*(task.split(name) for name in SPLITS), task.exemplars]


def image_keys(batch: Batch) -> list[bytes]:
    """The identity of each image: its pixels, and its factors if they are known."""
    keys = [image.tobytes() for image in batch.images]
    if batch.factors is None:
        return keys
    rows = zip(keys, batch.factors.array(), batch.factors.colour, strict=True)
    return [key + factors.tobytes() + colour.tobytes() for key, factors, colour in rows]


def is_described(trial: StreamTrial) -> None:
    """A stream has an id with a version, an image shape, and a number of tasks or None."""
    stream = trial.stream
    for name in ("id", "n_tasks", "image_shape"):
        ensure(hasattr(stream, name), f"{trial.name} has no attribute {name}; set it in the constructor")
    ensure(
        len(stream.image_shape) in (2, 3),
        f"image_shape of {trial.name} is {stream.image_shape}; give (H, W[, 3])",
    )
    ensure(stream.n_tasks is None or stream.n_tasks > 0, f"{trial.name} has no tasks")


def is_pure(trial: StreamTrial) -> None:
    """A task depends on its index only: two accesses, in any order, give equal images."""
    stream, expected = trial.stream, [batches(task) for task in trial.tasks]
    first, second = iter(stream), iter(stream)
    order = [next(first).index, next(second).index]
    ensure(order == [0, 0], f"two iterations over {trial.name} disturb each other; keep no position in it")
    backwards = [batches(stream.task(k)) for k in reversed(range(trial.n_tasks))]
    ensure(expected == backwards[::-1], f"{trial.name} gives other images when a task is loaded again")


def is_rebuilt_from_its_settings(trial: StreamTrial) -> None:
    """The settings build an equal stream, also after they were written as JSON and TOML."""
    spec = getattr(trial.stream, "spec", None)
    ensure(
        isinstance(spec, StreamSettings), f"{trial.name}.spec is {type(spec).__name__}; set StreamSettings"
    )
    assert isinstance(spec, StreamSettings)  # noqa: S101  # for mypy
    spec = streams.with_reference(spec)
    same = streams.from_json(spec.to_json()) == streams.from_toml(spec.to_toml()) == spec
    ensure(same, f"the settings of {trial.name} are not equal after they were written and read")
    again = streams.from_json(spec.to_json()).build()
    ensure(again.id == trial.stream.id, f"the id of {trial.name} is {again.id} when it is built again")
    ensure(
        again.fingerprint([0]) == trial.stream.fingerprint([0]),
        f"{trial.name} has other images when built again",
    )


def splits_are_disjoint(trial: StreamTrial) -> None:
    """No image is in two splits, and no training image of a task is a test image of another."""
    parts = {name: [set(image_keys(task.split(name))) for task in trial.tasks] for name in SPLITS}
    for k, of_task in enumerate(zip(*parts.values(), strict=True)):
        disjoint = sum(map(len, of_task)) == len(set.union(*of_task))
        ensure(disjoint, f"an image of task {k} of {trial.name} is in two splits")
    train = set.union(*parts["train"])
    others = set.union(*(part for name in SPLITS[1:] for part in parts[name]))
    ensure(not train & others, f"a training image of {trial.name} is a test image of another task")


def tasks_are_complete(trial: StreamTrial) -> None:
    """Each task has training and test images of its labels, uint8, in the shape of the stream."""
    name, stream = trial.name, trial.stream
    for task in trial.tasks:
        k, trained = task.index, np.unique(task.train.labels).tolist()
        ensure(len(task.train) and len(task.test), f"task {k} of {name} has no training or no test images")
        ensure(
            sorted(task.labels) == trained,
            f"task {k} of {name} has labels {task.labels[:5]}, but trains {trained[:5]}",
        )
        unknown = set(task.test.labels.tolist()) - set(task.labels)
        ensure(
            not unknown,
            f"task {k} of {name} tests the label {min(unknown, default=0)}, which it does not train",
        )
        for batch in batches(task):
            shape, dtype = batch.images.shape[1:], batch.images.dtype
            ensure(
                shape == tuple(stream.image_shape),
                f"images of {name} are {shape}, but image_shape is {stream.image_shape}",
            )
            ensure(dtype == np.uint8, f"images of {name} are {dtype}; give uint8")
            ensure(batch.labels.dtype == np.int64, f"labels of {name} are {batch.labels.dtype}; give int64")


def labels_recur_as_declared(trial: StreamTrial) -> None:
    """Labels recur only if `labels_recur` says so."""
    labels = [label for task in trial.tasks for label in task.labels]
    distinct = len(set(labels)) == len(labels)
    ensure(trial.stream.labels_recur or distinct, f"a label of {trial.name} recurs; set labels_recur to True")


def samples_for_evaluation(trial: StreamTrial) -> None:
    """`eval_sample` gives test images of the first tasks with their task ids, equal for equal arguments."""
    stream, name, first_task = trial.stream, trial.name, dict[bytes, int]()
    for task in trial.tasks:
        for image in image_keys(task.test):
            first_task.setdefault(image, task.index)
    sample = stream.eval_sample(trial.n_tasks, size=40, seed=3)
    ensure(0 < len(sample) <= 40, f"eval_sample of {name} gives {len(sample)} images instead of 1 to 40")
    ensure(sample == stream.eval_sample(trial.n_tasks, size=40, seed=3), f"eval_sample of {name} is not pure")
    ensure(sample.tasks is not None, f"eval_sample of {name} has no task ids")
    keys = image_keys(sample)
    ensure(
        set(keys) <= first_task.keys(),
        f"eval_sample of {name} has images that are not test images of its tasks",
    )


STREAM_CHECKS: Sequence[Callable[[StreamTrial], None]] = (
    is_described,
    is_pure,
    splits_are_disjoint,
    tasks_are_complete,
    labels_recur_as_declared,
    samples_for_evaluation,
    is_rebuilt_from_its_settings,
)
"""All checks; the docstring of each states the promise."""


def check_stream(stream: Stream | str, n_tasks: int = N_TASKS) -> list[str]:
    """Check that a stream keeps all promises; returns them, or raises `BrokenContract` for the first.

    Args:
        stream: a stream, a short name, "package.module:function" or "file.py:function".
        n_tasks: number of tasks that are checked.

    Example:
        >>> from everlearn.streams import sprites
        >>> check_stream(sprites(image_size=16, factor_values=2), n_tasks=2)[1]
        'A task depends on its index only: two accesses, in any order, give equal images.'
    """
    built = streams.build({"stream": stream}) if isinstance(stream, str) else stream
    if not isinstance(built, Stream):
        raise BadInput(f"{built!r:.80} is not a stream; give a Stream, or the name of one")
    trial = StreamTrial(built, n_tasks)
    return [run_check(check, trial) for check in STREAM_CHECKS]
