"""What happens to many jobs, as it is told to whoever listens: a screen, a log, a test."""

from dataclasses import dataclass

from everlearn.runs.events import Event


@dataclass(frozen=True)
class Begun(Event):
    """Everything was checked and work begins.

    Attributes:
        n_jobs: all jobs.
        n_finished: those that had been finished before.
        seconds: how long the rest will take, if that is known of every job.
    """

    kind = "begun"
    n_jobs: int
    n_finished: int
    seconds: float | None


@dataclass(frozen=True)
class JobEvent(Event):
    """Something that happened to one job.

    Attributes:
        job: what it is called.
        record: the folder of its record.
    """

    job: str
    record: str


@dataclass(frozen=True)
class JobStarted(JobEvent):
    """A job has its own process now. `attempt` counts from 1."""

    kind = "job-started"
    attempt: int


@dataclass(frozen=True)
class JobProgress(JobEvent):
    """A job has come further.

    Attributes:
        doing: what it is about: playing, or asking something.
        done: tasks that are learned.
        n_tasks: tasks in all; None until the run has begun.
        accuracy: of the newest evaluation, if there was one.
    """

    kind = "job-progress"
    doing: str
    done: int
    n_tasks: int | None
    accuracy: float | None


@dataclass(frozen=True)
class JobFinished(JobEvent):
    """The record is finished and every question answered. `seconds` have passed since the job was started."""

    kind = "job-finished"
    seconds: float
    accuracy: float | None


@dataclass(frozen=True)
class JobFailed(JobEvent):
    """A job could not be done. `reason` is what it said last; `again` whether it will be tried once more."""

    kind = "job-failed"
    reason: str
    again: bool


@dataclass(frozen=True)
class Stopping(Event):
    """Somebody asked to stop, by a signal: those at work save and go."""

    kind = "stopping"
    signal: int
    n_working: int


@dataclass(frozen=True)
class Ended(Event):
    """Nothing is at work any more.

    Attributes:
        n_finished: finished jobs, those of earlier times among them.
        n_failed: jobs that could not be done.
        n_left: jobs that were stopped, or not begun.
        seconds: since work began.
        signal: what asked to stop, if anything did.
    """

    kind = "ended"
    n_finished: int
    n_failed: int
    n_left: int
    seconds: float
    signal: int | None
