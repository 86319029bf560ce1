"""Doing jobs side by side: the parent starts children, listens to their records, and does nothing else."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from signal import Signals

from everlearn import files
from everlearn.errors import BadInput, check_range
from everlearn.runs.events import Event
from everlearn.runs.jobs import events as tell
from everlearn.runs.jobs.capacity import Capacity
from everlearn.runs.jobs.estimates import estimate
from everlearn.runs.jobs.gauge import read
from everlearn.runs.jobs.job import Act, Job, check, missing
from everlearn.runs.jobs.leash import GRACE
from everlearn.runs.jobs.stopping import Wish
from everlearn.runs.jobs.worker import Worker
from everlearn.runs.lock import LOCK, RecordLock
from everlearn.runs.records import Record

TICK = 0.2
"""Seconds between two looks at the children."""
MAX_RETRIES = 1000


def play_all(jobs: Iterable[Job], *, capacity: Capacity | None = None, retries: int = 0) -> Iterator[Event]:
    """Do what is missing of some jobs, several at a time; tell what happens.

    Each job has a process of its own; one that fails does not disturb the others. Asked to stop (SIGINT,
    SIGTERM), all save and end, and the same call goes on from there. Everything is checked before the
    first event is asked for.

    Args:
        jobs: what to do; what is finished of it is not done again.
        capacity: how much at once; one process for each core if not said.
        retries: how often a job that failed is tried again, from its last checkpoint.
    """
    check_range("retries", retries, 0, MAX_RETRIES)
    return _played(check(jobs), capacity or Capacity(), retries)


def _played(jobs: Sequence[Job], capacity: Capacity, retries: int) -> Iterator[Event]:
    places = {job.folder.parent.resolve(): job.folder.parent for job in jobs}
    with ExitStack() as locks, Wish() as wish:
        for folder in places.values():
            files.make_folder(folder)
            locks.enter_context(RecordLock(folder))
        yield from Crew(jobs, capacity=capacity, retries=retries, wish=wish).work()


class Crew:
    """All that work at the same time.

    Args:
        jobs: what to do.
        capacity: how much at once.
        retries: how often a job that failed is tried again.
        wish: tells when somebody wants it to stop.
    """

    def __init__(self, jobs: Sequence[Job], *, capacity: Capacity, retries: int, wish: Wish) -> None:
        self._jobs, self._capacity, self._retries, self._wish = jobs, capacity, retries, wish
        self._waiting = deque((job, 1) for job in jobs if missing(job))
        self._working: list[Worker] = []
        self._stopping: Signals | None = None
        self._n_finished = len(jobs) - len(self._waiting)
        self._n_failed = 0
        self._began = time.monotonic()

    def work(self) -> Iterator[Event]:
        """Work until nothing is left to do, or until asked to stop."""
        yield self._begun()
        try:
            while self._working or (self._waiting and self._wish.received is None):
                yield from self._hire() if self._wish.received is None else self._stop(self._wish.received)
                for worker in tuple(self._working):
                    yield from self._look_at(worker)
                time.sleep(TICK)
        finally:
            for worker in self._working:
                worker.child.close()
        yield self._ended()

    def _begun(self) -> Event:
        seconds = estimate(self._jobs, workers=self._capacity.workers)
        return tell.Begun(len(self._jobs), self._n_finished, seconds)

    def _ended(self) -> Event:
        return tell.Ended(
            n_finished=self._n_finished,
            n_failed=self._n_failed,
            n_left=len(self._jobs) - self._n_finished - self._n_failed,
            seconds=round(time.monotonic() - self._began, 3),
            signal=self._wish.received,
        )

    def _hire(self) -> Iterator[Event]:
        """Start one more job, if there is one to start and room for it."""
        if self._capacity.has_room([worker.child.pid for worker in self._working]):
            ready = next((each for each in self._waiting if self._is_ready(each[0])), None)
            if ready is not None:
                self._waiting.remove(ready)
                yield from self._start(*ready)

    def _is_ready(self, job: Job) -> bool:
        """Children of a parent that was killed may still be saving; they are waited for, but not for ever."""
        return time.monotonic() - self._began > GRACE or not _is_held(job.folder)

    def _start(self, job: Job, attempt: int) -> Iterator[Event]:
        try:
            job.begin()
            acts = missing(job)
            if not acts:
                yield self._finished(job, 0.0)
                return
            worker = Worker(job, attempt=attempt, act=acts[0], threads=self._capacity.threads)
        except (BadInput, OSError) as error:
            yield self._failed(job, attempt, str(error))
            return
        self._working.append(worker)
        yield tell.JobStarted(*job.names, attempt)

    def _look_at(self, worker: Worker) -> Iterator[Event]:
        is_over = not worker.child.is_alive
        try:
            yield from worker.progress()
            if is_over:
                yield from self._go_on(worker, missing(worker.job))
        except (BadInput, OSError) as error:
            self._dismiss(worker)
            yield self._failed(worker.job, worker.attempt, str(error))

    def _go_on(self, worker: Worker, left: Sequence[Act]) -> Iterator[Event]:
        """A child has ended. What it did is judged by the record alone, not by how it ended."""
        if left and left[0] != worker.act and self._stopping is None:
            worker.child.close()
            worker.launch(left[0])
            return
        told = tuple(self._outcome(worker, left))
        self._dismiss(worker)
        yield from told

    def _outcome(self, worker: Worker, left: Sequence[Act]) -> Iterator[Event]:
        """What there is to say of a child that ended with so much left to do; nothing if it was stopped."""
        if not left:
            yield self._finished(worker.job, worker.seconds)
        elif self._stopping is None:
            yield self._failed(worker.job, worker.attempt, worker.child.reason())

    def _dismiss(self, worker: Worker) -> None:
        worker.child.close()
        self._working.remove(worker)

    def _stop(self, received: Signals) -> Iterator[Event]:
        """Ask those at work to stop, once."""
        if self._stopping is None:
            self._stopping = received
            for worker in self._working:
                worker.child.let_go()
            yield tell.Stopping(received, len(self._working))

    def _finished(self, job: Job, seconds: float) -> Event:
        event = tell.JobFinished(*job.names, seconds, read(Record(job.folder)).accuracy)
        self._n_finished += 1
        return event

    def _failed(self, job: Job, attempt: int, reason: str) -> Event:
        again = attempt <= self._retries
        if again:
            self._waiting.append((job, attempt + 1))
        else:
            self._n_failed += 1
        return tell.JobFailed(*job.names, reason, again)


def _is_held(folder: Path) -> bool:
    """Whether some process is playing into a record."""
    if not (folder / LOCK).exists():
        return False
    try:
        with RecordLock(folder):
            return False
    except BadInput:
        return True
