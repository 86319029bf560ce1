"""Real children on tiny streams; whatever happens to them or to their parent, the records end the same."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, resume
from everlearn.runs.events import Event
from everlearn.runs.run_record import RecordLock
from everlearn.runs.sweep import Capacity, Job, missing, play_all
from everlearn.runs.sweep import events as tell
from tests.runs.conftest import finish

from .examples import LONG, hopeless, job, played, player

PARENT = """
import sys
from pathlib import Path
from tests.runs.sweep.examples import LONG, job
from everlearn.runs.sweep import play_all
for event in play_all([job(Path(sys.argv[1]), **LONG)]):
    print(event.kind, getattr(event, "done", 0), flush=True)
"""
ASK = ("held-out-factors", "--n-images", "10")


class Story(NamedTuple):
    """Everything that happened to three jobs, one of which was killed and one of which had no chance."""

    events: list[Event]
    jobs: dict[str, Job]

    def of(self, name: str, *kinds: type[tell.JobEvent]) -> list[tell.JobEvent]:
        return [each for each in self.events if isinstance(each, kinds or tell.JobEvent) and each.job == name]


def is_under_way(event: Event) -> bool:
    return isinstance(event, tell.JobProgress) and event.done >= 1


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the long run that nobody disturbed."""
    return played(job(tmp_path_factory.mktemp("calm") / "long", **LONG)).digest


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("jobs")
    names = ("long", "hopeless", "short")
    jobs = [
        job(folder / "long", **LONG),
        hopeless(folder / "hopeless"),
        job(folder / "short", ASK, seed=1),
    ]
    events, killed = [], 0
    for event in play_all(jobs, capacity=Capacity(workers=2), retries=1):
        # Once: what it told before it died may still arrive when there is nobody left to kill.
        if is_under_way(event) and event.job == "long" and not killed:  # type: ignore[attr-defined]
            killed = player(folder / "long")
            os.kill(killed, signal.SIGKILL)
        events.append(event)
    return Story(events, dict(zip(names, jobs, strict=True)))


def test_they_end_as_if_played_alone(story: Story, tmp_path: Path, calm: str) -> None:
    assert Record(story.jobs["long"].folder).digest == calm
    alone = played(job(tmp_path / "short", seed=1))
    assert Record(story.jobs["short"].folder).digest == alone.digest


def test_what_was_asked_is_answered(story: Story) -> None:
    record = Record(story.jobs["short"].folder)
    assert record.protocol_results()["held-out-factors"]["trained"] <= 1
    doings = [each.doing for each in story.of("short", tell.JobProgress)]  # type: ignore[attr-defined]
    assert doings[0] == "playing"
    assert doings[-1] == "asking held-out-factors"


def test_the_beginning_and_the_end_count_the_jobs(story: Story) -> None:
    assert story.events[0] == tell.Begun(n_jobs=3, n_finished=0, seconds=None)
    last = story.events[-1]
    assert isinstance(last, tell.Ended)
    assert (last.n_finished, last.n_failed, last.n_left, last.signal) == (2, 1, 0, None)


def test_a_killed_child_is_tried_again_from_where_it_was(story: Story) -> None:
    kinds = [each.kind for each in story.of("long") if not isinstance(each, tell.JobProgress)]
    assert kinds == ["job-started", "job-failed", "job-started", "job-finished"]
    (failed,) = story.of("long", tell.JobFailed)
    assert failed == tell.JobFailed(
        "long", failed.record, "it was ended by SIGKILL, as the system does when memory runs out", again=True
    )
    progress = story.of("long", tell.JobProgress)
    again = progress[1 + next(n for n, each in enumerate(progress) if each.done >= 1)]  # type: ignore[attr-defined]
    assert again.done >= 1  # type: ignore[attr-defined]


def test_a_job_without_a_chance_says_why_and_stops_nobody(story: Story) -> None:
    failed = story.of("hopeless", tell.JobFailed)
    assert [each.again for each in failed] == [True, False]  # type: ignore[attr-defined]
    assert "'/nowhere', which is not a folder" in failed[0].reason  # type: ignore[attr-defined]


def test_what_is_finished_is_not_done_again(story: Story) -> None:
    done = [story.jobs["long"], story.jobs["short"]]
    before = [Record(each.folder).digest for each in done]
    kinds = [event.kind for event in play_all(done)]
    assert kinds == ["begun", "ended"]
    assert [Record(each.folder).digest for each in done] == before


def test_every_event_is_json(story: Story) -> None:
    for event in story.events:
        assert json.loads(json.dumps(event.to_json()))["event"] == event.kind


def test_asked_to_stop_all_save_and_go(tmp_path: Path, calm: str) -> None:
    jobs = [job(tmp_path / "long", **LONG), job(tmp_path / "next", seed=1)]
    events = []
    for event in play_all(jobs, capacity=Capacity(workers=1)):
        if is_under_way(event) and not any(map(is_under_way, events)):
            signal.raise_signal(signal.SIGINT)
        events.append(event)
    assert tell.Stopping(signal=signal.SIGINT, n_working=1) in events
    last = events[-1]
    assert isinstance(last, tell.Ended)
    assert (last.n_finished, last.n_failed, last.n_left, last.signal) == (0, 0, 2, signal.SIGINT)
    assert not any(isinstance(each, tell.JobFailed) for each in events)
    assert not jobs[1].folder.exists()
    assert not Record(jobs[0].folder).is_finished
    finish(resume(jobs[0].folder))
    assert Record(jobs[0].folder).digest == calm


def test_whoever_stops_listening_leaves_nobody_behind(tmp_path: Path) -> None:
    long = job(tmp_path / "long", **LONG)
    with closing(_listening(long)) as story:
        next(each for each in story if is_under_way(each))
    with RecordLock(long.folder):  # nobody holds it
        assert missing(long)


def _listening(job: Job) -> Iterator[Event]:
    yield from play_all([job])


def test_a_killed_parent_leaves_nobody_behind_and_the_next_goes_on(tmp_path: Path, calm: str) -> None:
    long = job(tmp_path / "long", **LONG)
    words = [sys.executable, "-c", PARENT, str(long.folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        next(line for line in parent.stdout if line.startswith("job-progress") and line.split()[1] != "0")
        parent.kill()
    _wait_until_free(long.folder)
    assert not Record(long.folder).is_finished  # its child did not play on to the end
    events = list(play_all([long]))
    assert [each.kind for each in events if not isinstance(each, tell.JobProgress)] == [
        "begun",
        "job-started",
        "job-finished",
        "ended",
    ]
    assert Record(long.folder).digest == calm


def _wait_until_free(folder: Path) -> None:
    with (folder / ".lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_a_second_parent_is_refused(tmp_path: Path) -> None:
    with RecordLock(tmp_path), pytest.raises(BadInput, match=r"is being played by process \d+ on"):
        next(play_all([job(tmp_path / "a")]))
    assert not (tmp_path / "a").exists()


def test_nothing_is_done_if_one_job_is_wrong(tmp_path: Path) -> None:
    job(tmp_path / "b").begin()
    with pytest.raises(BadInput, match="plays something else"):
        play_all([job(tmp_path / "a"), job(tmp_path / "b", seed=1)])
    with pytest.raises(BadInput, match="retries is -1"):
        play_all([job(tmp_path / "a")], retries=-1)
    assert not (tmp_path / "a").exists()
