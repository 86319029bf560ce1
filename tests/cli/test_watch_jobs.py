import io
import signal
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.progress import Progress

from everlearn.cli.output import Screen
from everlearn.cli.progress import Bars, watch_jobs
from everlearn.runs.events import Event
from everlearn.runs.sweep import events as tell

A, B = ("a [b]", "records/a"), ("b", "records/b")
FAILED = tell.JobFailed(*B, "it has no images", again=False)
ENDED = tell.Ended(n_finished=2, n_failed=1, n_left=0, seconds=9.0, signal=None)
STORY: tuple[Event, ...] = (
    tell.Begun(n_jobs=3, n_finished=1, seconds=90.0),
    tell.JobStarted(*A, attempt=1),
    tell.JobStarted(*B, attempt=1),
    tell.JobProgress(*A, "playing", done=0, n_tasks=None, accuracy=None),
    tell.JobProgress(*A, "playing", done=3, n_tasks=4, accuracy=0.5),
    tell.JobFailed(*B, "it has no images", again=True),
    tell.JobStarted(*B, attempt=2),
    FAILED,
    tell.JobProgress(*A, "asking one-shot", done=4, n_tasks=4, accuracy=0.5),
    tell.JobFinished(*A, seconds=42.0, accuracy=0.875),
)


def told() -> Iterator[Event]:
    yield from STORY
    yield ENDED


def test_where_nobody_watches_there_is_a_line_for_what_a_log_ought_to_hold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = watch_jobs(told(), Screen())
    assert outcome == (ENDED, [FAILED])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "1 of 3 runs are finished; about 1.5 min to go",
        "a [b]: started",
        "b: started",
        "b: failed: it has no images; it will be tried again",
        "b: started, attempt 2",
        "b: failed: it has no images",
        "a [b]: finished after 42 s, accuracy 0.875",
    ]


def test_programs_get_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    watch_jobs(told(), Screen(as_json=True))
    assert capsys.readouterr() == ("", "")


def test_a_screen_has_a_bar_for_each_job_at_work_and_one_for_all() -> None:
    text = io.StringIO()
    with Progress(console=Console(file=text, force_terminal=True, width=100), auto_refresh=False) as shown:
        bars, seen = Bars(shown), []
        for event in STORY:
            bars(event)
            seen.append(
                [(row.description, row.completed, row.total, row.fields["word"]) for row in shown.tasks]
            )
    everything = ("all runs", 1, 3, "")
    assert seen[0] == [everything]
    assert seen[4] == [everything, (r"a \[b]", 3, 4, "accuracy 0.500"), ("b", 0, None, "")]
    assert seen[8] == [everything, (r"a \[b]", 4, 4, "asking one-shot")]
    assert seen[9] == [("all runs", 2, 3, "")]
    assert "b: failed: it has no images; it will be tried again" in text.getvalue()


def test_a_screen_says_that_it_is_stopping() -> None:
    with Progress(console=Console(file=io.StringIO()), auto_refresh=False) as shown:
        Bars(shown)(tell.Stopping(signal=signal.SIGINT, n_working=2))
        assert shown.tasks[0].fields["word"] == (
            "stopping: waiting for 2 to save; ask again to end them at once"
        )
