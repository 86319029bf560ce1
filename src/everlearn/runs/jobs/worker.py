"""A job in somebody's hands."""

import time
from collections.abc import Iterator

from everlearn.runs.events import Event
from everlearn.runs.jobs import events as tell
from everlearn.runs.jobs.child import Child
from everlearn.runs.jobs.gauge import Gauge
from everlearn.runs.jobs.job import Act, Job
from everlearn.runs.records import Record


class Worker:
    """A job in the hands of a child, one act after the other.

    Args:
        job: the job.
        attempt: which attempt at it this is, from 1.
        act: what is done first.
        threads: of arithmetic in the child.
    """

    def __init__(self, job: Job, *, attempt: int, act: Act, threads: int) -> None:
        self.job, self.attempt, self._threads = job, attempt, threads
        self._began = time.monotonic()
        self.record = Record(job.folder)
        self.launch(act)

    def launch(self, act: Act) -> None:
        """Start a child for the next act."""
        self.act, self._gauge = act, Gauge(self.record)
        self.child = Child(act.words, threads=self._threads)

    @property
    def seconds(self) -> float:
        """How long it has had the job."""
        return round(time.monotonic() - self._began, 3)

    def progress(self) -> Iterator[Event]:
        """What is new about the job."""
        news = self._gauge.news()
        if news is not None:
            yield tell.JobProgress(*self.job.names, self.act.doing, **news._asdict())
