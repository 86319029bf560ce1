from pathlib import Path

import pytest

from everlearn.cli.protocols import save_result
from everlearn.runs import Record, list_records, record
from everlearn.runs.sweep.suite import SuiteEntry, get_size

from .outcomes import Run, assert_refused

pytestmark = pytest.mark.usefixtures("_in_tmp_path")
OWN = '''
import numpy as np
from everlearn.learners import Learner

class Constant(Learner):
    """Predicts the label that it saw first."""

    counters = ("label",)
    label = -1

    def learn(self, batch):
        self.label = int(batch.labels[0]) if self.label < 0 else self.label
        return {"loss": 0.0}

    def predict(self, images, tasks=None):
        return np.full(len(images), self.label)
'''


def test_finished_runs_give_a_card_and_are_not_repeated(run: Run) -> None:
    entry = SuiteEntry("nearest", get_size("smoke"))
    for job in entry.jobs(Path("board"), 1):
        for _ in record(job.spec, job.folder):
            pass
        if job.protocols:
            save_result(Record(job.folder), "answer-cost", {"flops": None, "milliseconds": 0.5})
    data = run("benchmark", "board", "--learner", "nearest", "--size", "smoke", "--json").data
    assert Path(data["card"]).parent == entry.folder(Path("board"))
    assert data["scores"]["answer_ms"]["values"] == [0.5]
    statuses = {score["status"] for score in data["scores"].values()}
    assert statuses == {"measured", "not applicable"}
    assert "applicable" in run("leaderboard", "board").out


@pytest.mark.slow
def test_a_learner_of_a_file_gets_a_score_card(run: Run) -> None:
    Path("own.py").write_text(OWN)
    words = ("benchmark", "board", "--learner", "own.py:Constant", "--size", "smoke", "--workers", "1")
    data = run(*words, "--json").data
    assert data["name"] == "Constant"
    assert data["scores"]["long"]["status"] == "measured"
    assert data["scores"]["open_set"]["status"] == "not applicable"
    folder = Path(data["card"]).parent
    digests = [record.digest for record in list_records(folder / "runs")]
    again = run(*words)
    assert again.code == 0
    assert "not applicable" in again.out
    assert [record.digest for record in list_records(folder / "runs")] == digests
    listed = run("leaderboard", "board", "--out", "board.md", "--json").data
    assert [card["name"] for card in listed["cards"]] == ["Constant"]
    assert "| Constant |" in Path("board.md").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("benchmark", "board"),
        ("benchmark", "board", "--learner", "err"),
        ("benchmark", "board", "--learner", "er", "--size", "huge"),
        ("benchmark", "board", "--learner", "er", "--set", "memory=1"),
        ("benchmark", "board", "--learner", "er", "--seeds", "0"),
        ("leaderboard", "board"),
        ("leaderboard", "board", "--out", "board.txt"),
    ],
)
def test_invalid_input_is_refused(run: Run, words: tuple[str, ...]) -> None:
    assert_refused(run(*words))
    assert not Path("board").exists()
