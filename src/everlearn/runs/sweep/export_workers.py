"""An export made by many: each has a share of the tasks, and one signs the whole."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from everlearn.runs.sweep.executors import AtWork, Capacity, Where, Workshop
from everlearn.runs.sweep.scheduler import MAX_LOSSES, TICK
from everlearn.streams.exports import Workers
from everlearn.streams.exports.staging import receipt_path
from everlearn.streams.exports.write import Wait

LARGEST = 64
"""Tasks in a share at most, so that little is lost with whoever had it."""
ROUNDS = 2
"""Shares for each worker at least, so that nobody waits long for the slowest."""


def shared_among(capacity: Capacity, where: Where) -> Workers:
    """Processes that make the tasks of an export, for `everlearn.streams.exports`.

    Args:
        capacity: how many at a time, and what each takes.
        where: they work.
    """

    @contextmanager
    def others(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
        shared = folder.resolve()
        with where(capacity, (shared,)) as workshop:
            shares = Shares(workshop, shared, tasks)
            try:
                yield shares.wait
            finally:
                shares.close()

    return others


class Shares:
    """The tasks of an export, shared out in the order in which they are waited for.

    What ends badly, other than by being lost, is not tried again: whoever waits makes its tasks, and hears
    what is wrong.

    Args:
        workshop: where they are made.
        folder: of the export.
        tasks: which; those that were made before are looked through.
    """

    def __init__(self, workshop: Workshop, folder: Path, tasks: Sequence[int]) -> None:
        self._workshop, self._folder, self._losses = workshop, folder, 0
        self._new = {k for k in tasks if not receipt_path(folder, k).is_file()}
        self._expected, self._sound = set(tasks), set[int]()
        size = max(1, min(LARGEST, len(tasks) // (ROUNDS * workshop.workers)))
        self._waiting = deque(tasks[at : at + size] for at in range(0, len(tasks), size))
        self._working: list[tuple[AtWork, Sequence[int]]] = []

    def wait(self, k: int) -> bool:
        """Whether a task is whole, once that is known; False if nobody is left who would see to it."""
        self._look()
        while k in self._expected and not self._is_made(k):
            time.sleep(TICK)
            self._look()
        return k in self._sound or self._is_made(k)

    def close(self) -> None:
        """End whatever is still at work; what it has made stays."""
        for work, _ in self._working:
            work.close()

    def _is_made(self, k: int) -> bool:
        """A receipt from earlier times tells nothing about what became of the files since."""
        return k in self._new and receipt_path(self._folder, k).is_file()

    def _look(self) -> None:
        for ended in [each for each in self._working if not each[0].is_alive]:
            self._working.remove(ended)
            self._take_back(*ended)
        while self._waiting and self._workshop.has_room():
            share = self._waiting.popleft()
            words = ("stream", "share", str(self._folder), "--tasks", ",".join(map(str, share)))
            self._working.append((self._workshop.start(words), share))

    def _take_back(self, work: AtWork, share: Sequence[int]) -> None:
        if work.code is None and self._losses < MAX_LOSSES:
            self._losses += 1
            self._waiting.appendleft(share)
        else:
            self._expected.difference_update(share)
            self._sound.update(share if work.code == 0 else ())
        work.close()
