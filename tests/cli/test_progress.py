import io
import signal
from collections.abc import Iterator

import pytest
from rich.console import Console as RichConsole
from rich.progress import Progress

from everlearn.cli.output import Console, progress_columns
from everlearn.cli.progress import SweepBars, SweepOutcome, show_sweep
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

A, B = ("a [b]", "records/a"), ("b", "records/b")
FAILED = JobFailed(*B, "it has no images", will_retry=False)
ENDED = SweepEnded(n_finished=2, n_failed=1, n_left=0, seconds=9.0, signal=None)
EVENTS: tuple[Event, ...] = (
    SweepStarted(n_jobs=3, n_finished=1, seconds=90.0),
    JobStarted(*A, attempt=1),
    JobStarted(*B, attempt=1),
    JobProgress(*A, "training", done=0, n_tasks=None, accuracy=None),
    JobProgress(*A, "training", done=3, n_tasks=4, accuracy=0.5),
    JobFailed(*B, "it has no images", will_retry=True),
    JobStarted(*B, attempt=2),
    FAILED,
    JobProgress(*A, "one-shot", done=4, n_tasks=4, accuracy=0.5),
    JobFinished(*A, seconds=42.0, accuracy=0.875),
)


def events() -> Iterator[Event]:
    yield from (*EVENTS, ENDED)


def test_log_has_a_line_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_sweep(events(), Console()) == (ENDED, [FAILED])
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines() == [
        "1 of 3 runs finished; about 1.5 min remaining",
        "a [b]: started",
        "b: started",
        "b: failed: it has no images; it will be retried",
        "b: started, attempt 2",
        "b: failed: it has no images",
        "a [b]: finished after 42 s, accuracy 0.875",
    ]


def test_json_output_has_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_sweep(events(), Console(as_json=True))
    assert capsys.readouterr() == ("", "")


def test_terminal_has_a_bar_for_each_running_job() -> None:
    text = io.StringIO()
    console = RichConsole(file=text, force_terminal=True, width=100)
    with Progress(*progress_columns(), console=console, auto_refresh=False) as shown:
        bars, seen = SweepBars(shown), []
        for event in EVENTS:
            bars(event)
            rows = [(row.description, row.completed, row.total, row.fields["note"]) for row in shown.tasks]
            seen.append(rows)
    total = ("all runs", 1, 3, "")
    assert seen[0] == [total]
    assert seen[4] == [total, ("a [b]", 3, 4, "accuracy 0.500"), ("b", 0, None, "")]
    assert seen[8] == [total, ("a [b]", 4, 4, "one-shot")]
    assert seen[9] == [("all runs", 2, 3, "")]
    assert "b: failed: it has no images; it will be retried" in text.getvalue()


def test_brackets_in_titles_and_notes_are_shown_as_they_are() -> None:
    text = io.StringIO()
    console = RichConsole(file=text, force_terminal=True, width=100)
    with Progress(*progress_columns(), console=console, auto_refresh=False) as shown:
        shown.add_task("Teaching [/a]", total=2, note="class [/b]")
        shown.refresh()
    assert "Teaching [/a]" in text.getvalue()
    assert "class [/b]" in text.getvalue()


def test_terminal_shows_that_the_sweep_is_stopping() -> None:
    with Progress(console=RichConsole(file=io.StringIO()), auto_refresh=False) as shown:
        SweepBars(shown)(SweepStopping(signal=signal.SIGINT, n_running=2))
        note = "stopping: waiting for 2 runs to save; repeat to end them immediately"
        assert shown.tasks[0].fields["note"] == note


def test_exit_code_of_a_sweep() -> None:
    stopped = SweepEnded(n_finished=1, n_failed=0, n_left=2, seconds=9.0, signal=signal.SIGTERM)
    assert SweepOutcome(ENDED, []).exit_code == 0
    assert SweepOutcome(ENDED, [FAILED]).exit_code == 1
    assert SweepOutcome(stopped, []).exit_code == 143
    assert SweepOutcome(stopped, []).messages() == [
        "stopped by SIGTERM, 2 of 3 runs left; the same command continues them"
    ]
