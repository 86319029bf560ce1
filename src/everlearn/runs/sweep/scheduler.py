"""Doing jobs side by side: the parent starts others, listens to their records, and does nothing else."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from signal import Signals
from typing import NamedTuple

from everlearn import files
from everlearn.errors import BadInput, check_range
from everlearn.runs.events import Event
from everlearn.runs.run_record import LOCK, SCORES, SECONDS, Record, RecordLock, lines_backwards
from everlearn.runs.signals import Wish
from everlearn.runs.sweep import events as tell
from everlearn.runs.sweep.child_main import GRACE
from everlearn.runs.sweep.executors import Capacity, Where, Workshop, this_machine
from everlearn.runs.sweep.jobs import Act, Job, check, estimate, missing


class Reading(NamedTuple):
    """How far, of how far, and how good when last judged."""

    done: int
    n_tasks: int | None
    accuracy: float | None


class Gauge:
    """Looks at a record that somebody else is writing, and reads it only when it has grown.

    Args:
        record: the record.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._size = -1

    def news(self) -> Reading | None:
        """The state of the run, if another task has ended since the last look."""
        path = self._record.folder / SECONDS
        size = path.stat().st_size if path.exists() else 0
        if size == self._size:
            return None
        try:
            reading = read(self._record)
        except BadInput:
            return None  # written at this moment: there is another look; damaged: its player complains
        self._size = size
        return reading


def read(record: Record) -> Reading:
    """The state of a run."""
    last = next(lines_backwards(record.folder / SECONDS), None)
    first = next(record.events(), None)
    return Reading(
        done=0 if last is None else int(last["task"]) + 1,
        n_tasks=None if first is None else int(first["n_tasks"]),
        accuracy=_accuracy(record),
    )


def _accuracy(record: Record) -> float | None:
    scored = next(lines_backwards(record.folder / SCORES), None)
    return None if scored is None else sum(scored["correct"]) / max(1, sum(scored["total"]))


class Turn(NamedTuple):
    """A job that waits for its turn.

    Attributes:
        job: the job.
        since: when it began to wait, by the monotonic clock.
        failures: how often it has failed before.
        losses: how often the process or machine that had it was lost.
    """

    job: Job
    since: float
    failures: int = 0
    losses: int = 0


class Worker:
    """A job at work somewhere, one act after the other.

    Args:
        turn: the job, and how it went before.
        act: what is done first.
        workshop: where it is done.
    """

    def __init__(self, turn: Turn, *, act: Act, workshop: Workshop) -> None:
        self.turn, self.job, self._workshop = turn, turn.job, workshop
        self._began = time.monotonic()
        self.record = Record(self.job.folder)
        self.launch(act)

    def launch(self, act: Act) -> None:
        """Start the next act."""
        self.act, self._gauge = act, Gauge(self.record)
        self.child = self._workshop.start(act.words)

    @property
    def seconds(self) -> float:
        """How long it has had the job."""
        return round(time.monotonic() - self._began, 3)

    def progress(self) -> Iterator[Event]:
        """What is new about the job."""
        news = self._gauge.news()
        if news is not None:
            yield tell.JobProgress(*self.job.names, self.act.doing, **news._asdict())


TICK = 0.2
"""Seconds between two looks at the children."""
MAX_RETRIES = 1000
MAX_LOSSES = 20
"""Times that a job goes on elsewhere when its machine is lost; after more of them, the job is to blame."""


def play_all(
    jobs: Iterable[Job],
    *,
    capacity: Capacity | None = None,
    where: Where = this_machine,
    retries: int = 0,
) -> Iterator[Event]:
    """Do what is missing of some jobs, several at a time; tell what happens.

    Each job has a process of its own; one that fails does not disturb the others. Asked to stop (SIGINT,
    SIGTERM), all save and end, and the same call goes on from there. Everything is checked before the
    first event is asked for.

    Args:
        jobs: what to do; what is finished of it is not done again.
        capacity: how much at once; as much as there is room for if not said.
        where: the processes are; such as `cluster.on_ray`. On this machine if not said.
        retries: how often a job that failed is tried again, from its last checkpoint.
    """
    check_range("retries", retries, 0, MAX_RETRIES)
    return _played(check(jobs), where, capacity or Capacity(), retries)


def _played(jobs: Sequence[Job], where: Where, capacity: Capacity, retries: int) -> Iterator[Event]:
    places = {job.folder.parent.resolve(): job.folder.parent for job in jobs}
    with ExitStack() as stack:
        for folder in places.values():
            files.make_folder(folder)
            stack.enter_context(RecordLock(folder))
        workshop = stack.enter_context(where(capacity, tuple(places)))
        wish = stack.enter_context(Wish())  # last, because Ray has a mind of its own about signals
        yield from Crew(jobs, workshop=workshop, retries=retries, wish=wish).work()


class Crew:
    """All that work at the same time.

    Args:
        jobs: what to do.
        workshop: where they work.
        retries: how often a job that failed is tried again.
        wish: tells when somebody wants it to stop.
    """

    def __init__(self, jobs: Sequence[Job], *, workshop: Workshop, retries: int, wish: Wish) -> None:
        self._jobs, self._workshop, self._retries, self._wish = jobs, workshop, retries, wish
        self._waiting = deque(Turn(job, time.monotonic()) for job in jobs if missing(job))
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
                for worker in tuple(self._working):
                    yield from self._look_at(worker)
                yield from self._hire() if self._wish.received is None else self._stop(self._wish.received)
                time.sleep(TICK)
        finally:
            for worker in self._working:
                worker.child.close()
        yield self._ended()

    def _begun(self) -> Event:
        seconds = estimate(self._jobs, workers=self._workshop.workers)
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
        """Start jobs while there are some to start and room for them."""
        for turn in tuple(self._waiting):
            if not self._workshop.has_room():
                return
            if _is_ready(turn):
                self._waiting.remove(turn)
                yield from self._start(turn)

    def _start(self, turn: Turn) -> Iterator[Event]:
        job = turn.job
        try:
            job.begin()
            acts = missing(job)
            if not acts:
                yield self._finished(job, 0.0)
                return
            worker = Worker(turn, act=acts[0], workshop=self._workshop)
        except (BadInput, OSError) as error:
            yield self._failed(turn, str(error))
            return
        self._working.append(worker)
        yield tell.JobStarted(*job.names, 1 + turn.failures + turn.losses)

    def _look_at(self, worker: Worker) -> Iterator[Event]:
        is_over = not worker.child.is_alive
        try:
            yield from worker.progress()
            if is_over:
                yield from self._go_on(worker, missing(worker.job))
        except (BadInput, OSError) as error:
            self._dismiss(worker)
            yield self._failed(worker.turn, str(error))

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
            tried = self._lost if worker.child.code is None else self._failed
            yield tried(worker.turn, worker.child.reason())

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

    def _failed(self, turn: Turn, reason: str) -> Event:
        again = turn._replace(failures=turn.failures + 1)
        return self._missed(again, reason, again.failures <= self._retries)

    def _lost(self, turn: Turn, reason: str) -> Event:
        """What a job cannot help is no failure of its own."""
        again = turn._replace(losses=turn.losses + 1)
        return self._missed(again, reason, again.losses <= MAX_LOSSES)

    def _missed(self, turn: Turn, reason: str, again: bool) -> Event:
        if again:
            self._waiting.append(turn._replace(since=time.monotonic()))
        else:
            self._n_failed += 1
        return tell.JobFailed(*turn.job.names, reason, again)


def _is_ready(turn: Turn) -> bool:
    """Whoever had a job before may still be saving; it is waited for, but not for ever."""
    return time.monotonic() - turn.since > GRACE or not _is_held(turn.job.folder)


def _is_held(folder: Path) -> bool:
    """Whether some process is playing into a record."""
    if not (folder / LOCK).exists():
        return False
    try:
        with RecordLock(folder):
            return False
    except BadInput:
        return True
