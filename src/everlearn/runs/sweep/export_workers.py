"""Parallel export: worker processes write tasks, the calling process assembles them in order."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from everlearn.runs.sweep.executors import Capacity, Executor, ExecutorFactory, ProcessHandle
from everlearn.runs.sweep.scheduler import MAX_LOSSES, POLL_INTERVAL
from everlearn.streams.exports import Workers
from everlearn.streams.exports.staging import receipt_path
from everlearn.streams.exports.write import Wait

MAX_CHUNK = 64
"""Maximum tasks per chunk, which limits what is lost with a worker."""
MIN_CHUNKS_PER_WORKER = 2


def export_workers(capacity: Capacity, executor: ExecutorFactory) -> Workers:
    """Workers for `everlearn.streams.export`."""

    @contextmanager
    def workers(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
        shared = folder.resolve()
        with executor(capacity, (shared,)) as opened:
            chunks = ChunkQueue(opened, shared, tasks)
            try:
                yield chunks.wait
            finally:
                chunks.close()

    return workers


class ChunkQueue:
    """Tasks of an export in chunks, in the order in which they are needed.

    A chunk whose worker fails is not retried, unless its machine was lost: the caller writes its tasks and
    gets the error.
    """

    def __init__(self, executor: Executor, folder: Path, tasks: Sequence[int]) -> None:
        self._executor, self._folder, self._n_losses = executor, folder, 0
        self._new = {k for k in tasks if not receipt_path(folder, k).is_file()}
        self._pending, self._verified = set(tasks), set[int]()
        size = max(1, min(MAX_CHUNK, len(tasks) // (MIN_CHUNKS_PER_WORKER * executor.workers)))
        self._queue = deque(tasks[at : at + size] for at in range(0, len(tasks), size))
        self._running: list[tuple[ProcessHandle, Sequence[int]]] = []

    def wait(self, k: int) -> bool:
        """Wait for a task and return whether it is complete; False if no worker is left for it."""
        self._poll()
        while k in self._pending and not self._is_written(k):
            time.sleep(POLL_INTERVAL)
            self._poll()
        return k in self._verified or self._is_written(k)

    def close(self) -> None:
        """End the workers; the tasks that they have written remain."""
        for process, _ in self._running:
            process.close()

    def _is_written(self, k: int) -> bool:
        """Whether a worker wrote a task; a receipt from before does not prove that its files are intact."""
        return k in self._new and receipt_path(self._folder, k).is_file()

    def _poll(self) -> None:
        for ended in [each for each in self._running if not each[0].is_alive]:
            self._running.remove(ended)
            self._finish(*ended)
        while self._queue and self._executor.has_capacity():
            chunk = self._queue.popleft()
            command = ("stream", "export-chunk", str(self._folder), "--tasks", ",".join(map(str, chunk)))
            self._running.append((self._executor.start(command), chunk))

    def _finish(self, process: ProcessHandle, chunk: Sequence[int]) -> None:
        if process.exit_code is None and self._n_losses < MAX_LOSSES:
            self._n_losses += 1
            self._queue.appendleft(chunk)
        else:
            self._pending.difference_update(chunk)
            self._verified.update(chunk if process.exit_code == 0 else ())
        process.close()
