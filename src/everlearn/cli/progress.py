"""A screen that listens to many jobs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import Signals
from typing import Any, NamedTuple

from rich import progress as bars
from rich.console import Console
from rich.markup import escape

from everlearn.cli.output import KILLED, Progress, Screen, progress_columns
from everlearn.evaluation.formatting import format_duration
from everlearn.runs import Record
from everlearn.runs import events as tell
from everlearn.runs.events import Event
from everlearn.runs.sweep import events as job_events

LEARNING = 0.8
"""The part of a task's time that learning is taken for; scoring is the rest."""


def watch(story: Iterator[tell.Event], record: Record, progress: Progress) -> None:
    """Play a story to its end; tell how far it is, and how good the learner was when last judged."""
    epochs, accuracy, n_tasks = record.spec["epochs"], _last_accuracy(record), 0
    for event in story:
        n_tasks = n_tasks or _n_tasks(record)
        match event:
            case tell.Learned():
                done = event.epoch * event.n_batches + event.batch + 1
                progress(event.task + LEARNING * done / (epochs * event.n_batches), n_tasks, accuracy)
            case tell.Scoring():
                share = LEARNING + (1 - LEARNING) * event.done / event.total
                progress(event.task + share, n_tasks, accuracy)
            case tell.Scored():
                accuracy = _word(event.accuracy)
            case tell.Probed():
                accuracy = f"objects {event.accuracy:.3f}"
            case tell.TaskEnded():
                progress(event.task + 1, n_tasks, accuracy)


def _n_tasks(record: Record) -> int:
    return int(next(record.events())["n_tasks"])


def _last_accuracy(record: Record) -> str:
    """Of a run that is resumed, what it reached before."""
    word = ""
    for row in record.scores():
        word = _word(sum(row["correct"]) / max(1, sum(row["total"])))
    return word


def _word(accuracy: float) -> str:
    return f"accuracy {accuracy:.3f}"


FAILED = 1
"""The exit code when some runs could not be played."""

Listener = Callable[[Event], None]


class Outcome(NamedTuple):
    """How it ended, and why some jobs could not be done."""

    ended: job_events.Ended
    failed: list[job_events.JobFailed]

    @property
    def code(self) -> int:
        """The exit code."""
        if self.ended.signal is not None:
            return KILLED + self.ended.signal
        return FAILED if self.failed else 0

    def facts(self) -> dict[str, Any]:
        """What became of the jobs, for programs."""
        return {
            "finished": self.ended.n_finished,
            "failed": [{"record": each.record, "reason": each.reason} for each in self.failed],
            "left": self.ended.n_left,
            "seconds": self.ended.seconds,
        }

    def lines(self) -> list[str]:
        """What went wrong, for people; nothing if all went well."""
        lines = [f"{each.record} failed: {each.reason}" for each in self.failed]
        if self.ended.signal is not None:
            left, total = self.ended.n_left, self.ended.n_finished + self.ended.n_failed + self.ended.n_left
            name = Signals(self.ended.signal).name
            lines.append(f"stopped by {name} with {left} of {total} runs to go; the same command goes on")
        return lines


def watch_jobs(story: Iterator[Event], screen: Screen) -> Outcome:
    """Listen to the end: with a line for each job at work, or with plain lines where nobody watches."""
    failed: list[job_events.JobFailed] = []
    with _listener(screen) as listen:
        for event in story:
            listen(event)
            if isinstance(event, job_events.JobFailed) and not event.again:
                failed.append(event)
    if not isinstance(event, job_events.Ended):
        raise TypeError("a story of jobs ends with Ended")
    return Outcome(event, failed)


@contextmanager
def _listener(screen: Screen) -> Iterator[Listener]:
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield (lambda event: None) if screen.as_json else say
        return
    with bars.Progress(*progress_columns(), console=console, transient=True) as shown:
        yield Bars(shown)


def say(event: Event) -> None:
    """One plain line for what a log ought to hold."""
    if line := sentence(event):
        print(line, file=sys.stderr, flush=True)


def sentence(event: Event) -> str:
    """An event for people; nothing for those that only move a bar.

    Example:
        >>> sentence(job_events.JobFinished("er", "records/er", seconds=42.0, accuracy=0.875))
        'er: finished after 42 s, accuracy 0.875'
    """
    match event:
        case job_events.Begun(n_jobs=n, n_finished=done, seconds=seconds):
            return f"{done} of {n} runs are finished" + (f"; {_time(seconds)}" if done < n else "")
        case job_events.JobStarted(job=job, attempt=attempt):
            return f"{job}: started" + (f", attempt {attempt}" if attempt > 1 else "")
        case job_events.JobFinished(job=job, seconds=seconds, accuracy=accuracy):
            return f"{job}: finished after {format_duration(seconds)}{_judged(accuracy, ', ')}"
        case job_events.JobFailed(job=job, reason=reason, again=again):
            return f"{job}: failed: {reason}" + ("; it will be tried again" if again else "")
        case job_events.Stopping(n_working=n):
            return f"stopping: waiting for {n} to save; ask again to end them at once"
    return ""


class Bars:
    """A bar for each job at work, below what failed, and one for them all.

    Args:
        shown: where they are drawn.
    """

    def __init__(self, shown: bars.Progress) -> None:
        self._shown = shown
        self._rows: dict[str, bars.TaskID] = {}
        self._all = shown.add_task("all runs", total=None, word="")

    def __call__(self, event: Event) -> None:
        """Show what happened."""
        match event:
            case job_events.Begun():
                self._shown.update(self._all, completed=event.n_finished, total=event.n_jobs)
                self._shown.console.print(sentence(event), markup=False)
            case job_events.JobStarted():
                self._rows[event.record] = self._shown.add_task(escape(event.job), total=None, word="")
            case job_events.JobProgress():
                word = event.doing if event.doing != "playing" else _judged(event.accuracy)
                row = self._rows[event.record]
                self._shown.update(row, completed=event.done, total=event.n_tasks, word=word)
            case job_events.JobFinished():
                self._leave(event)
                self._shown.advance(self._all)
            case job_events.JobFailed():
                self._leave(event)
                self._shown.console.print(sentence(event), markup=False)
            case job_events.Stopping():
                self._shown.update(self._all, word=sentence(event))

    def _leave(self, event: job_events.JobEvent) -> None:
        row = self._rows.pop(event.record, None)
        if row is not None:
            self._shown.remove_task(row)


def _time(seconds: float | None) -> str:
    return "time unknown" if seconds is None else f"about {format_duration(seconds)} to go"


def _judged(accuracy: float | None, before: str = "") -> str:
    return "" if accuracy is None else f"{before}accuracy {accuracy:.3f}"
