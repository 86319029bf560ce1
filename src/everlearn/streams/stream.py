"""The endless sequence of tasks itself."""

import hashlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rng import IntArray, rng_at
from everlearn.streams.settings import StreamSettings

Images = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Batch:
    """Images, their labels and their ground truth, row by row.

    Attributes:
        images: (n, H, W) gray or (n, H, W, 3) colour, uint8.
        labels: (n,) what each image shows.
        factors: where and how it is shown, or None where nobody knows (plain photographs).
        tasks: (n,) the task each image came from, only in task-incremental streams, which give it away
            at test time too.
    """

    images: Images
    labels: IntArray
    factors: Factors | None = None
    tasks: IntArray | None = None

    def __post_init__(self) -> None:
        n = len(self.images)
        others = (self.labels, self.factors, self.tasks)
        if any(part is not None and len(part) != n for part in others):
            raise ValueError("images, labels, factors and tasks must have one row per image")

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, which: Any) -> "Batch":
        rows = np.atleast_1d(np.arange(len(self))[which])
        return Batch(
            self.images[rows],
            self.labels[rows],
            None if self.factors is None else self.factors[rows],
            None if self.tasks is None else self.tasks[rows],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        arrays = ((self.images, other.images), (self.labels, other.labels), (self.tasks, other.tasks))
        return self.factors == other.factors and all(_same(a, b) for a, b in arrays)

    __hash__ = None  # type: ignore[assignment]

    def batches(self, size: int) -> Iterator["Batch"]:
        """The batch in consecutive pieces of at most `size` rows."""
        return (self[start : start + size] for start in range(0, len(self), size))

    def shuffled(self, seed: int, *address: int) -> "Batch":
        """The same rows in an order that depends only on seed and address."""
        return self[rng_at(seed, "shuffle", *address).permutation(len(self))]

    @classmethod
    def concatenate(cls, parts: Sequence["Batch"]) -> "Batch":
        """Several batches, one after another; factors or tasks stay only if every part has them."""
        factors = [part.factors for part in parts if part.factors is not None]
        tasks = [part.tasks for part in parts if part.tasks is not None]
        return cls(
            np.concatenate([part.images for part in parts]),
            np.concatenate([part.labels for part in parts]),
            Factors.concatenate(factors) if len(factors) == len(parts) else None,
            np.concatenate(tasks) if len(tasks) == len(parts) else None,
        )


def _same(a: npt.NDArray[Any] | None, b: npt.NDArray[Any] | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


Split = Literal["train", "val", "test", "held_out"]
SPLITS: tuple[Split, ...] = ("train", "val", "test", "held_out")


@dataclass(frozen=True)
class Task:
    """What arrives together: some classes, images to learn from, images to be tested on.

    Images are made when a split is first asked for, and kept; a task that is only counted costs nothing.

    Attributes:
        index: the place in the stream, from 0.
        labels: the labels that occur in it, sorted.
        exemplars: one image in canonical form per label that has one, in the order of `labels`.
        ordered: the order of the training images is part of the stream (a drift), so do not shuffle it.
        name: a word for people, such as "moving-mnist"; may be empty.
    """

    index: int
    labels: tuple[int, ...]
    draw: Callable[[Split], Batch] = field(repr=False, compare=False)
    draw_exemplars: Callable[[], Batch] = field(repr=False, compare=False)
    ordered: bool = False
    name: str = ""

    @cached_property
    def train(self) -> Batch:
        """Images to learn from."""
        return self.draw("train")

    @cached_property
    def val(self) -> Batch:
        """Images to choose settings with."""
        return self.draw("val")

    @cached_property
    def test(self) -> Batch:
        """Images to be judged by; never shown to a learner together with their labels."""
        return self.draw("test")

    @cached_property
    def held_out(self) -> Batch:
        """Images in factor combinations that no training image of the stream has; often empty."""
        return self.draw("held_out")

    @cached_property
    def exemplars(self) -> Batch:
        """One image of each class in its canonical form."""
        return self.draw_exemplars()

    def split(self, name: Split) -> Batch:
        """A split by its name."""
        batch: Batch = getattr(self, name)
        return batch

    def for_learner(self) -> "TaskView":
        """The task without what a learner must not see."""
        return TaskView(self)


class TaskView:
    """A task as a learner sees it: no test images, no held-out images."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.index, self.labels, self.name = task.index, task.labels, task.name
        self.ordered = task.ordered

    @property
    def train(self) -> Batch:
        """Images to learn from."""
        return self._task.train

    @property
    def val(self) -> Batch:
        """Images to choose settings with."""
        return self._task.val

    @property
    def exemplars(self) -> Batch:
        """One image of each class in its canonical form."""
        return self._task.exemplars


FINGERPRINT_TASKS = 2
# Where an endless stream ends after all, lest class numbers leave 64 bits: a million tasks a second
# for twelve days.
LAST_TASK = 2**40 - 1


class Stream(ABC):
    """Tasks by number: `task(k)` is pure and costs the same for every k.

    Iterating always starts at the beginning, two iterations do not disturb one another, and nothing of an
    earlier task is kept.

    Attributes:
        id: the name to cite, such as "sprites/class-incremental-v1"; a change that moves a pixel or a
            split gets a new version.
        spec: the settings that made this stream; `spec.build()` makes it again.
        n_tasks: how many tasks there are; None means endless.
        image_shape: (H, W) or (H, W, 3), the same for every image.
        provides_task_ids: whether a learner is told the task of an image, at test time too.
        labels_recur: whether a label can be met in more than one task.
    """

    id: str
    spec: StreamSettings
    n_tasks: int | None
    image_shape: tuple[int, ...]
    provides_task_ids: bool = False
    labels_recur: bool = True

    @abstractmethod
    def _task(self, k: int) -> Task:
        """Task number k, already known to exist."""

    @abstractmethod
    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        """At most `size` test images spread evenly over all classes of the first `n_tasks` tasks.

        Costs the same after task 500 as after task 5, and depends on nothing but its arguments. Every image
        of it says which task it came from, so that scores can be told apart by task.
        """

    def task(self, k: int) -> Task:
        """Task number k, counted from 0."""
        return self._task(self._check_number(k))

    def _check_number(self, k: int) -> int:
        n_tasks = LAST_TASK + 1 if self.n_tasks is None else self.n_tasks
        if not 0 <= k < n_tasks:
            raise BadInput(f"there is no task {k} in {self.id}; its tasks run from 0 to {n_tasks - 1}")
        return operator.index(k)

    def take(self, n: int) -> Iterator[Task]:
        """The first n tasks, or all of them if there are fewer."""
        if n < 0:
            raise BadInput(f"cannot take {n} tasks; give a number from 0 up")
        return (self.task(k) for k in range(n if self.n_tasks is None else min(n, self.n_tasks)))

    def __iter__(self) -> Iterator[Task]:
        numbers: Iterable[int] = count() if self.n_tasks is None else range(self.n_tasks)
        return (self.task(k) for k in numbers)

    def __len__(self) -> int:
        if self.n_tasks is None:
            raise TypeError(f"{self.id} is endless and has no length; use take(n)")
        return self.n_tasks

    def __repr__(self) -> str:
        return f"<{self.id}: {'∞' if self.n_tasks is None else self.n_tasks} tasks>"

    def fingerprint(self, tasks: Iterable[int] | None = None) -> str:
        """A short hash of real content (pixels, labels, factors) that a paper can cite.

        Args:
            tasks: which tasks to read; the first two if not said.
        """
        if tasks is None:
            tasks = range(FINGERPRINT_TASKS if self.n_tasks is None else min(FINGERPRINT_TASKS, self.n_tasks))
        return fingerprint_of(self.id, map(self.task, tasks))


def fingerprint_of(stream_id: str, tasks: Iterable[Task]) -> str:
    """The fingerprint of tasks at hand; each is let go before the next is asked for."""
    digest = hashlib.sha256(stream_id.encode())
    for task in tasks:
        for batch in (*(task.split(name) for name in SPLITS), task.exemplars):
            _digest_batch(digest, batch)
    return digest.hexdigest()[:16]


def _digest_batch(digest: "hashlib._Hash", batch: Batch) -> None:
    digest.update(repr(batch.images.shape).encode())
    digest.update(np.ascontiguousarray(batch.images).data)
    digest.update(batch.labels.astype("<i8").tobytes())
    if batch.factors is not None:
        digest.update(batch.factors.array().astype("<f8").tobytes())
        digest.update(batch.factors.colour.astype("<f8").tobytes())
