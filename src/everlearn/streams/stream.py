"""The endless sequence of tasks itself."""

import hashlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np

from everlearn.errors import BadInput
from everlearn.streams.batch import Batch
from everlearn.streams.settings import StreamSettings
from everlearn.streams.task import SPLITS, Task

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
        gives_tasks: whether a learner is told the task of an image, at test time too.
        labels_return: whether a label can be met in more than one task.
    """

    id: str
    spec: StreamSettings
    n_tasks: int | None
    image_shape: tuple[int, ...]
    gives_tasks: bool = False
    labels_return: bool = True

    @abstractmethod
    def _task(self, k: int) -> Task:
        """Task number k, already known to exist."""

    @abstractmethod
    def probe(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
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
