"""Streams of tasks: `Stream`, `Task` and `Batch`."""

import hashlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.factors import Factors
from everlearn.rng import IntArray, rng_at

if TYPE_CHECKING:  # pydantic takes a tenth of a second, and images need no settings
    from everlearn.streams.settings import StreamSettings

Images = npt.NDArray[np.uint8]
Split = Literal["train", "val", "test", "held_out"]

SPLITS: tuple[Split, ...] = ("train", "val", "test", "held_out")
FINGERPRINT_TASKS = 2
MAX_TASKS = 2**40
"""Tasks of an infinite stream, so that class ids fit into 64 bits."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Images with labels and ground-truth factors.

    Attributes:
        images: (n, H, W) gray or (n, H, W, 3) colour, uint8.
        labels: (n,) class labels.
        factors: ground-truth factors; None if they are unknown, as for photographs.
        tasks: (n,) the task of each image, in task-incremental streams and `Stream.eval_sample`.

    Example:
        >>> batch = Batch(np.zeros((5, 8, 8), np.uint8), labels=np.arange(5))
        >>> batch[3:].labels
        array([3, 4])
        >>> [len(part) for part in batch.batches(2)]
        [2, 2, 1]
    """

    images: Images
    labels: IntArray
    factors: Factors | None = None
    tasks: IntArray | None = None

    def __post_init__(self) -> None:
        others = {"labels": self.labels, "factors": self.factors, "tasks": self.tasks}
        for name, part in others.items():
            if part is not None and len(part) != len(self.images):
                raise BadInput(
                    f"{len(self.images)} images have {len(part)} {name}; give one of each per image"
                )

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, which: Any) -> "Batch":
        rows = np.atleast_1d(np.arange(len(self))[which])
        factors = None if self.factors is None else self.factors[rows]
        tasks = None if self.tasks is None else self.tasks[rows]
        return Batch(self.images[rows], self.labels[rows], factors, tasks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        arrays = ((self.images, other.images), (self.labels, other.labels), (self.tasks, other.tasks))
        return self.factors == other.factors and all(
            a is b if a is None or b is None else np.array_equal(a, b) for a, b in arrays
        )

    __hash__ = None  # type: ignore[assignment]

    def batches(self, size: int) -> Iterator["Batch"]:
        """Consecutive batches of at most `size` images."""
        return (self[start : start + size] for start in range(0, len(self), size))

    def shuffled(self, seed: int, *address: int) -> "Batch":
        """The batch in a random order that depends only on seed and address."""
        return self[rng_at(seed, "shuffle", *address).permutation(len(self))]

    @classmethod
    def concatenate(cls, parts: Sequence["Batch"]) -> "Batch":
        """Several batches in order; factors and tasks are kept only if every part has them."""
        factors = [part.factors for part in parts if part.factors is not None]
        tasks = [part.tasks for part in parts if part.tasks is not None]
        return cls(
            np.concatenate([part.images for part in parts]),
            np.concatenate([part.labels for part in parts]),
            Factors.concatenate(factors) if len(factors) == len(parts) else None,
            np.concatenate(tasks) if len(tasks) == len(parts) else None,
        )


@dataclass(frozen=True)
class Task:
    """One task of a stream: some classes, with images that are loaded on first access and cached.

    Attributes:
        index: position in the stream, from 0.
        labels: the labels that occur, sorted.
        ordered: the order of the training images is part of the stream (gradual drift); do not shuffle.
        name: for display, such as "moving-mnist"; may be empty.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(4)
        >>> task.labels, task.train.images.shape, len(task.exemplars)
        ((12, 13, 14), (42, 16, 16), 3)
    """

    index: int
    labels: tuple[int, ...]
    load_split: Callable[[Split], Batch] = field(repr=False, compare=False)
    load_exemplars: Callable[[], Batch] = field(repr=False, compare=False)
    ordered: bool = False
    name: str = ""

    @cached_property
    def train(self) -> Batch:
        """Training images."""
        return self.load_split("train")

    @cached_property
    def val(self) -> Batch:
        """Validation images."""
        return self.load_split("val")

    @cached_property
    def test(self) -> Batch:
        """Test images; a learner never sees their labels."""
        return self.load_split("test")

    @cached_property
    def held_out(self) -> Batch:
        """Images with factor combinations that occur in no training image of the stream; often empty."""
        return self.load_split("held_out")

    @cached_property
    def exemplars(self) -> Batch:
        """One image per class in canonical pose, in the order of `labels`; classes may have none."""
        return self.load_exemplars()

    def split(self, name: Split) -> Batch:
        """A split by name."""
        return cast(Batch, getattr(self, name))

    def for_learner(self) -> "TaskView":
        """The task without test and held-out images."""
        return TaskView(self)


class TaskView:
    """The part of a task that a learner may see: no test images, no held-out images.

    Example:
        >>> from everlearn.streams import sprites
        >>> view = sprites(image_size=16, factor_values=2, classes_per_task=3).task(4).for_learner()
        >>> len(view.train), hasattr(view, "test")
        (42, False)
    """

    def __init__(self, task: Task) -> None:
        self._task, self.index, self.labels = task, task.index, task.labels
        self.name, self.ordered = task.name, task.ordered

    @property
    def train(self) -> Batch:
        """Training images."""
        return self._task.train

    @property
    def val(self) -> Batch:
        """Validation images."""
        return self._task.val

    @property
    def exemplars(self) -> Batch:
        """One image per class in canonical pose."""
        return self._task.exemplars


class Stream(ABC):
    """A sequence of tasks: `task(k)` is pure and its cost does not depend on k.

    Iteration starts at task 0, iterators are independent, and no earlier task is kept in memory.

    Attributes:
        id: name to cite, such as "sprites/class-incremental-v1"; the version changes with any pixel or split.
        spec: the settings; `spec.build()` builds the stream again.
        n_tasks: number of tasks; None if infinite.
        image_shape: (H, W) or (H, W, 3).
        provides_task_ids: whether a learner is given the task of each image, also at test time.
        labels_recur: whether a label can occur in more than one task.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(image_size=16, factor_values=2, classes_per_task=3)
        >>> [task.labels for task in stream.take(2)]
        [(0, 1, 2), (3, 4, 5)]
        >>> stream.task(1_000_000).test.labels
        array([3000000, 3000001, 3000002])
    """

    id: str
    spec: "StreamSettings"
    n_tasks: int | None
    image_shape: tuple[int, ...]
    provides_task_ids: bool = False
    labels_recur: bool = True

    @abstractmethod
    def load_task(self, k: int) -> Task:
        """Task k, which exists."""

    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        """A class-balanced sample of at most `size` test images of the first `n_tasks` tasks, with task ids.

        It depends only on its arguments. This implementation loads the test images of all these tasks;
        streams with many tasks override it.
        """
        check_range("n_tasks", n_tasks, 1, MAX_TASKS)
        tests = [(task.index, task.test) for task in self.take(n_tasks)]
        tasks = np.concatenate([np.full(len(test), k, np.int64) for k, test in tests])
        whole = Batch.concatenate([test for _, test in tests])
        order = rng_at(seed, "evaluation sample of loaded tasks", n_tasks).permutation(len(whole))
        pairs = np.stack([tasks, whole.labels], axis=1)[order]
        group = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        sizes = np.bincount(group)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        n_before = np.empty(len(whole), np.int64)  # images of the same class and task before each image
        n_before[np.argsort(group, kind="stable")] = np.arange(len(whole)) - starts
        chosen = np.sort(order[np.argsort(n_before, kind="stable")[:size]])
        return replace(whole[chosen], tasks=tasks[chosen])

    def task(self, k: int) -> Task:
        """Task k, counted from 0."""
        return self.load_task(self._check_index(k))

    def _check_index(self, k: int) -> int:
        n_tasks = MAX_TASKS if self.n_tasks is None else self.n_tasks
        index = operator.index(k) if hasattr(k, "__index__") else -1
        if not 0 <= index < n_tasks:
            raise BadInput(f"there is no task {k} in {self.id}; its tasks are 0 to {n_tasks - 1}")
        return index

    def take(self, n: int) -> Iterator[Task]:
        """The first n tasks, or all if there are fewer."""
        if n < 0:
            raise BadInput(f"cannot take {n} tasks; the number must not be negative")
        return islice(self, n)

    def __iter__(self) -> Iterator[Task]:
        return map(self.task, self._indices())

    def _indices(self) -> Iterable[int]:
        return count() if self.n_tasks is None else range(self.n_tasks)

    def __len__(self) -> int:
        if self.n_tasks is None:
            raise TypeError(f"{self.id} is infinite and has no length; use take(n)")
        return self.n_tasks

    def __repr__(self) -> str:
        return f"<{self.id}: {'∞' if self.n_tasks is None else self.n_tasks} tasks>"

    def fingerprint(self, tasks: Iterable[int] | None = None) -> str:
        """A short hash of pixels, labels and factors of some tasks; default: the first two."""
        indices = islice(self._indices(), FINGERPRINT_TASKS) if tasks is None else tasks
        return fingerprint_of(self.id, map(self.task, indices))


def fingerprint_of(stream_id: str, tasks: Iterable[Task]) -> str:
    """The fingerprint of some tasks; one task is in memory at a time."""
    digest = hashlib.sha256(stream_id.encode())
    for task in tasks:
        for batch in (*(task.split(name) for name in SPLITS), task.exemplars):
            digest.update(repr(batch.images.shape).encode())
            digest.update(np.ascontiguousarray(batch.images).data)
            digest.update(batch.labels.astype("<i8").tobytes())
            if batch.factors is not None:
                digest.update(batch.factors.array().astype("<f8").tobytes())
                digest.update(batch.factors.colour.astype("<f8").tobytes())
    return digest.hexdigest()[:16]
