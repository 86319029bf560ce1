"""The scheduler of a sweep: starts jobs, polls their records and retries those that fail."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from signal import Signals
from typing import NamedTuple

from everlearn import files
from everlearn.errors import BadInput, check_range
from everlearn.runs.child_main import STOP_TIMEOUT
from everlearn.runs.events import (
    Event,
    JobFailed,
    JobFinished,
    JobProgress,
    JobStarted,
    SweepEnded,
    SweepStarted,
    SweepStopping,
)
from everlearn.runs.progress import ProgressReader, read_progress
from everlearn.runs.run_record import Record, RecordLock
from everlearn.runs.signals import StopSignal
from everlearn.runs.sweep.executors import Capacity, Executor, ExecutorFactory, local_executor
from everlearn.runs.sweep.jobs import Command, Job, check_jobs, estimate_seconds, pending_commands

POLL_INTERVAL = 0.2
MAX_RETRIES = 1000
MAX_LOSSES = 20
"""Maximum restarts of a job after its machine was lost; with more losses, the job itself is the cause."""


def run_jobs(
    jobs: Iterable[Job],
    *,
    capacity: Capacity | None = None,
    executor: ExecutorFactory = local_executor,
    retries: int = 0,
) -> Iterator[Event]:
    """Run the pending commands of some jobs, several at a time, and yield events.

    Each job has its own process, so a failure does not affect the others. After SIGINT or SIGTERM all jobs
    save and end; the same call continues them. Everything is checked before the first event is requested.

    Args:
        jobs: the jobs; finished runs and protocols are not repeated.
        capacity: jobs at a time and their resources; default: as many as fit.
        executor: where they run: `local_executor` or `ray_executor.on_ray(...)`.
        retries: how often a failed job is started again from its last checkpoint.
    """
    check_range("retries", retries, 0, MAX_RETRIES)
    return _run(check_jobs(jobs), executor, capacity or Capacity(), retries)


def _run(jobs: Sequence[Job], factory: ExecutorFactory, capacity: Capacity, retries: int) -> Iterator[Event]:
    folders = {job.folder.parent.resolve(): job.folder.parent for job in jobs}
    with ExitStack() as stack:
        for folder in folders.values():
            files.make_folder(folder)
            stack.enter_context(RecordLock(folder))
        executor = stack.enter_context(factory(capacity, tuple(folders)))
        stop = stack.enter_context(StopSignal())  # last, because Ray installs its own signal handlers
        yield from Scheduler(jobs, executor=executor, retries=retries, stop=stop).events()


class QueuedJob(NamedTuple):
    """A job that waits to be started."""

    job: Job  # the job
    since: float  # when it was queued (monotonic clock)
    failures: int = 0  # how often it has failed
    losses: int = 0  # how often its process or machine was lost


class RunningJob:
    """A job that is running, one command after the other."""

    def __init__(self, queued: QueuedJob, command: Command, executor: Executor) -> None:
        self.queued, self.job, self._executor = queued, queued.job, executor
        self._started = time.monotonic()
        self.start(command)

    def start(self, command: Command) -> None:
        """Start a command."""
        self.command, self._reader = command, ProgressReader(Record(self.job.folder))
        self.process = self._executor.start(command.arguments)

    @property
    def seconds(self) -> float:
        """Time since the job was started."""
        return round(time.monotonic() - self._started, 3)

    def poll(self) -> Iterator[Event]:
        """An event if the record has grown."""
        progress = self._reader.poll()
        if progress is not None:
            stage, (done, n_tasks, accuracy) = self.command.stage, progress
            yield JobProgress(*self.job.names, stage, int(done), n_tasks, accuracy)


class Scheduler:
    """Runs jobs until all are finished or a stop signal is received."""

    def __init__(self, jobs: Sequence[Job], *, executor: Executor, retries: int, stop: StopSignal) -> None:
        self._jobs, self._executor, self._retries, self._stop = jobs, executor, retries, stop
        self._queue = deque(QueuedJob(job, time.monotonic()) for job in jobs if pending_commands(job))
        self._running: list[RunningJob] = []
        self._is_stopping = False
        self._n_finished = len(jobs) - len(self._queue)
        self._n_failed = 0
        self._started = time.monotonic()

    def events(self) -> Iterator[Event]:
        """Run the jobs and yield events."""
        seconds = estimate_seconds(self._jobs, workers=self._executor.workers)
        yield SweepStarted(len(self._jobs), self._n_finished, seconds)
        try:
            while self._running or (self._queue and self._stop.received is None):
                for running in tuple(self._running):
                    yield from self._poll(running)
                received = self._stop.received
                yield from self._start_jobs() if received is None else self._stop_jobs(received)
                time.sleep(POLL_INTERVAL)
        finally:
            for running in self._running:
                running.process.close()
        yield SweepEnded(
            n_finished=self._n_finished,
            n_failed=self._n_failed,
            n_left=len(self._jobs) - self._n_finished - self._n_failed,
            seconds=round(time.monotonic() - self._started, 3),
            signal=self._stop.received,
        )

    def _start_jobs(self) -> Iterator[Event]:
        for queued in tuple(self._queue):
            if not self._executor.has_capacity():
                return
            if _is_ready(queued):
                self._queue.remove(queued)
                yield from self._start(queued)

    def _start(self, queued: QueuedJob) -> Iterator[Event]:
        job = queued.job
        try:
            job.create_record()
            commands = pending_commands(job)
            if not commands:
                yield self._finished(job, 0.0)
                return
            running = RunningJob(queued, commands[0], self._executor)
        except (BadInput, OSError) as error:
            yield self._failed(queued, str(error))
            return
        self._running.append(running)
        yield JobStarted(*job.names, 1 + queued.failures + queued.losses)

    def _stop_jobs(self, received: Signals) -> Iterator[Event]:
        """Terminate the running jobs, once."""
        if not self._is_stopping:
            self._is_stopping = True
            for running in self._running:
                running.process.terminate()
            yield SweepStopping(received, len(self._running))

    def _poll(self, running: RunningJob) -> Iterator[Event]:
        has_ended = not running.process.is_alive
        try:
            yield from running.poll()
            if has_ended:
                yield from self._continue(running, pending_commands(running.job))
        except (BadInput, OSError) as error:
            self._remove(running)
            yield self._failed(running.queued, str(error))

    def _continue(self, running: RunningJob, pending: Sequence[Command]) -> Iterator[Event]:
        """Continue after a command has ended; the record, not the exit code, shows whether it succeeded."""
        if pending and pending[0] != running.command and not self._is_stopping:
            running.process.close()
            running.start(pending[0])
            return
        event = self._outcome(running, pending)
        self._remove(running)
        if event is not None:
            yield event

    def _outcome(self, running: RunningJob, pending: Sequence[Command]) -> Event | None:
        if not pending:
            return self._finished(running.job, running.seconds)
        if self._is_stopping:
            return None
        is_lost = running.process.exit_code is None
        return (self._lost if is_lost else self._failed)(running.queued, running.process.error())

    def _remove(self, running: RunningJob) -> None:
        running.process.close()
        self._running.remove(running)

    def _finished(self, job: Job, seconds: float) -> Event:
        event = JobFinished(*job.names, seconds, read_progress(Record(job.folder)).accuracy)
        self._n_finished += 1
        return event

    def _failed(self, queued: QueuedJob, reason: str) -> Event:
        again = queued._replace(failures=queued.failures + 1)
        return self._retry(again, reason, again.failures <= self._retries)

    def _lost(self, queued: QueuedJob, reason: str) -> Event:
        """A lost machine does not count as a failure of the job."""
        again = queued._replace(losses=queued.losses + 1)
        return self._retry(again, reason, again.losses <= MAX_LOSSES)

    def _retry(self, queued: QueuedJob, reason: str, will_retry: bool) -> Event:
        if will_retry:
            self._queue.append(queued._replace(since=time.monotonic()))
        else:
            self._n_failed += 1
        return JobFailed(*queued.job.names, reason, will_retry)


def _is_ready(queued: QueuedJob) -> bool:
    """Whether the previous process of a job has released its record; saving may take a while."""
    return time.monotonic() - queued.since > STOP_TIMEOUT or not _is_locked(queued.job.folder)


def _is_locked(folder: Path) -> bool:
    if not (folder / files.LOCK).exists():
        return False
    try:
        with RecordLock(folder):
            return False
    except BadInput:
        return True
