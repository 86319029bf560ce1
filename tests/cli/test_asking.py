import json
import signal
from pathlib import Path

import pytest

from everlearn import runs
from everlearn.cli.multiple_choice import keep, taught
from everlearn.errors import BadInput
from everlearn.runs.events import Learned

from .outcomes import SETTINGS, record_of


def stopped_in_the_first_task(folder: Path) -> runs.Record:
    story = runs.record(runs.RunSpec.make(learner="nearest", settings=SETTINGS), folder)
    while not isinstance(next(story), Learned):
        pass
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(runs.Stopped):
        next(story)
    return runs.Record(folder)


def test_a_learner_that_was_taught_is_asked_as_it_was_saved_last(tmp_path: Path) -> None:
    play = taught(runs.Record(record_of("nearest", tmp_path / "run")))
    assert (play.position.task, play.n_tasks) == (2, 2)


def test_a_learner_without_a_task_behind_it_cannot_be_asked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has not finished a task yet; play it with `everlearn resume .*run`"):
        taught(stopped_in_the_first_task(tmp_path / "run"))


def test_an_answer_is_kept_until_the_record_changes(tmp_path: Path) -> None:
    record = stopped_in_the_first_task(tmp_path / "run")
    kept = keep(record, "riddle", {"answer": 7})
    assert json.loads((tmp_path / "run" / "protocols" / "riddle.json").read_text()) == kept
    assert record.answers() == {"riddle": {"answer": 7, "digest": record.digest}}
    for _ in runs.resume(record.folder):
        pass
    assert record.answers() == {}
