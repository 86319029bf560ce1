"""Progress of runs and sweeps on a terminal, or as lines in a log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import Signals
from typing import Any, NamedTuple

from rich import progress as bars
from rich.console import Console as RichConsole

from everlearn.cli.output import SIGNAL_OFFSET, Console, UpdateProgress, counted, progress_columns
from everlearn.evaluation.formatting import format_duration
from everlearn.runs import Record
from everlearn.runs.events import (
    Event,
    JobEvent,
    JobFailed,
    JobFinished,
    JobProgress,
    JobStarted,
    SweepEnded,
    SweepStarted,
    SweepStopping,
)
from everlearn.runs.progress import follow_progress

FAILED = 1
"""Exit code if a run of a sweep failed."""

Listener = Callable[[Event], None]


def show_run(events: Iterator[Event], record: Record, update: UpdateProgress) -> None:
    """Consume the events of a run and update a progress bar."""
    for done, n_tasks, accuracy in follow_progress(events, record):
        update(done, n_tasks, _accuracy(accuracy))


class SweepOutcome(NamedTuple):
    """The last event of a sweep, and the jobs that failed."""

    ended: SweepEnded
    failed: list[JobFailed]

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        if self.ended.signal is not None:
            return SIGNAL_OFFSET + self.ended.signal
        return FAILED if self.failed else 0

    def data(self) -> dict[str, Any]:
        """The outcome as plain JSON values."""
        return {
            "finished": self.ended.n_finished,
            "failed": [{"record": each.record, "reason": each.reason} for each in self.failed],
            "left": self.ended.n_left,
            "seconds": self.ended.seconds,
        }

    def messages(self) -> list[str]:
        """Failures, one line each."""
        lines = [f"{each.record} failed: {each.reason}" for each in self.failed]
        if self.ended.signal is not None:
            left, total = self.ended.n_left, self.ended.n_finished + self.ended.n_failed + self.ended.n_left
            name = Signals(self.ended.signal).name
            lines.append(f"stopped by {name}, {left} of {total} runs left; the same command continues them")
        return lines


def show_sweep(events: Iterator[Event], console: Console) -> SweepOutcome:
    """Consume the events of a sweep and show a bar for each job, or lines if stderr is not a terminal."""
    failed: list[JobFailed] = []
    with _listener(console) as listen:
        for event in events:
            listen(event)
            if isinstance(event, JobFailed) and not event.will_retry:
                failed.append(event)
    if not isinstance(event, SweepEnded):
        raise TypeError("the last event of a sweep must be SweepEnded")
    return SweepOutcome(event, failed)


@contextmanager
def _listener(console: Console) -> Iterator[Listener]:
    stderr = RichConsole(stderr=True, highlight=False)
    if not stderr.is_terminal:
        yield (lambda event: None) if console.as_json else _print_line
        return
    with bars.Progress(*progress_columns(), console=stderr, transient=True) as shown:
        yield SweepBars(shown)


def _print_line(event: Event) -> None:
    if line := message(event):
        print(line, file=sys.stderr, flush=True)


def message(event: Event) -> str:
    """One line for an event; empty for progress.

    Example:
        >>> message(JobFinished("er", "records/er", seconds=42.0, accuracy=0.875))
        'er: finished after 42 s, accuracy 0.875'
    """
    match event:
        case SweepStarted(n_jobs=n, n_finished=done, seconds=seconds):
            return f"{done} of {counted(n, 'run')} finished" + (
                f"; {_remaining(seconds)}" if done < n else ""
            )
        case JobStarted(job=job, attempt=attempt):
            return f"{job}: started" + (f", attempt {attempt}" if attempt > 1 else "")
        case JobFinished(job=job, seconds=seconds, accuracy=accuracy):
            reached = "" if accuracy is None else f", {_accuracy(accuracy)}"
            return f"{job}: finished after {format_duration(seconds)}{reached}"
        case JobFailed(job=job, reason=reason, will_retry=will_retry):
            return f"{job}: failed: {reason}" + ("; it will be retried" if will_retry else "")
        case SweepStopping(n_running=n):
            return f"stopping: waiting for {counted(n, 'run')} to save; repeat to end them immediately"
    return ""


class SweepBars:
    """A progress bar for each running job and one for the sweep; failures are printed above."""

    def __init__(self, shown: bars.Progress) -> None:
        self._shown = shown
        self._rows: dict[str, bars.TaskID] = {}
        self._total = shown.add_task("all runs", total=None, note="")

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case SweepStarted():
                self._shown.update(self._total, completed=event.n_finished, total=event.n_jobs)
                self._shown.console.print(message(event), markup=False)
            case JobStarted():
                self._rows[event.record] = self._shown.add_task(event.job, total=None, note="")
            case JobProgress():
                note = event.stage if event.stage != "training" else _accuracy(event.accuracy)
                row = self._rows[event.record]
                self._shown.update(row, completed=event.done, total=event.n_tasks, note=note)
            case JobFinished():
                self._remove(event)
                self._shown.advance(self._total)
            case JobFailed():
                self._remove(event)
                self._shown.console.print(message(event), markup=False)
            case SweepStopping():
                self._shown.update(self._total, note=message(event))

    def _remove(self, event: JobEvent) -> None:
        row = self._rows.pop(event.record, None)
        if row is not None:
            self._shown.remove_task(row)


def _remaining(seconds: float | None) -> str:
    return "remaining time unknown" if seconds is None else f"about {format_duration(seconds)} remaining"


def _accuracy(accuracy: float | None) -> str:
    return "" if accuracy is None else f"accuracy {accuracy:.3f}"
