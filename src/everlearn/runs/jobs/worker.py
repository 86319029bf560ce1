"""A job in somebody's hands."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from everlearn.runs.events import Event
from everlearn.runs.jobs import events as tell
from everlearn.runs.jobs.gauge import Gauge
from everlearn.runs.jobs.job import Act, Job
from everlearn.runs.jobs.workshop import Workshop
from everlearn.runs.records import Record


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
