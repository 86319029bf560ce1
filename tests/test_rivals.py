"""Numbers in the rivals' page are those that were measured, with settings that test images did not choose."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import rivals_runs, rivals_tuning
from benchmarks.rivals_cases import CASES, Case
from benchmarks.rivals_page import PAGE, beside, with_tables
from benchmarks.rivals_runs import RESULTS, accuracy, home, play, spec_of
from benchmarks.rivals_tuning import SEED, chosen, judged, tried, tune

from everlearn import learners
from everlearn.runs import Play, Record
from everlearn.streams import Batch
from tests.streams.images.files import write_mnist

CASE = Case("er-7", "er", grid={"learner.learning_rate": (0.1, 0.2), "learner.replay_size": (1, 2)})


def test_figures_are_those_of_the_kept_records() -> None:
    text = PAGE.read_text("utf-8")
    assert with_tables(text) == text, "run `python -m benchmarks.rivals_page`"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kept_records_were_played_as_the_case_says(case: Case) -> None:
    for stream in ("mnist", "fashion"):
        for seed in case.seeds:
            if (folder := home(stream, case, seed)).is_dir():
                assert spec_of(folder) == case.spec(stream, chosen(case), seed)


def test_nothing_is_kept_that_no_case_asks_for() -> None:
    asked = {
        home(stream, case, seed) for stream in ("mnist", "fashion") for case in CASES for seed in case.seeds
    }
    assert {folder for folder in RESULTS.iterdir() if folder.is_dir()} <= asked


def test_no_reported_run_has_the_seed_of_tuning() -> None:
    assert all(SEED not in case.seeds for case in CASES)


def test_every_rival_of_the_issue_is_there() -> None:
    named = {"naive", "ewc", "si", "l2", "lwf", "joint", "er", "gdumb", "icarl", "der", "der++", "a-gem"}
    assert {case.learner for case in CASES} == named <= set(learners.names())


def test_all_of_a_grid_is_tried() -> None:
    rate, size = "learner.learning_rate", "learner.replay_size"
    assert list(CASE.choices()) == [{rate: r, size: n} for r in (0.1, 0.2) for n in (1, 2)]
    assert list(Case("naive", "naive").choices()) == [{}]


def test_the_best_on_validation_images_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals_tuning, "TRIED", tmp_path / "tuning.json")
    first, _, third, _ = CASE.choices()
    assert chosen(CASE) == first
    rows = [
        {"settings": first, "validation": 20.0},
        {"settings": third, "validation": 90.0},
        {"settings": {"learner.learning_rate": 9}, "validation": 99.0},  # no part of the grid any more
    ]
    (tmp_path / "tuning.json").write_text(json.dumps({"er-7": rows}))
    assert chosen(CASE) == third


@pytest.mark.parametrize(
    ("ours", "line"),
    [
        ([], "| er-7 | 90 | not played yet | 0 | | |"),
        ([87.5], "| er-7 | 90 | 87.5 | 1 | -2.5 | within 3 |"),
        ([94.0, 95.0], "| er-7 | 90 | 94.5 (94.0 to 95.0) | 2 | +4.5 | **outside** |"),
    ],
)
def test_a_line_of_the_table(ours: list[float], line: str) -> None:
    assert beside(Case("er-7", "er", published=90.0), ours) == line


FEW = Case("naive", "naive", {"batch_size": 8}, grid={"learner.learning_rate": (0.001, 0.01)})


@pytest.fixture
def few_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few images in MNIST's place, and a place of its own for all that is written."""
    write_mnist(tmp_path, n_train=200, n_test=50)
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    monkeypatch.setattr(rivals_runs, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(rivals_runs, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(rivals_tuning, "TRIED", tmp_path / "results" / "tuning.json")


@pytest.mark.usefixtures("few_digits")
def test_a_choice_is_judged_by_validation_images() -> None:
    spec = FEW.spec("mnist", {}, SEED)
    playing = Play(spec)
    list(playing.events())
    held_out = Batch.concatenate([task.val for task in playing.stream.take(5)])
    right = playing.learner.predict(held_out.images) == held_out.labels
    assert 0 < right.mean() < 1
    assert judged(spec) == pytest.approx(100 * np.mean(right))


@pytest.mark.usefixtures("few_digits")
def test_what_was_tried_is_kept_and_not_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    tune(FEW)
    assert [row["settings"] for row in tried()["naive"]] == list(FEW.choices())
    assert capsys.readouterr().out.count("validation") == 2
    tune(FEW)
    assert not capsys.readouterr().out


@pytest.mark.usefixtures("few_digits")
def test_a_run_is_played_once_for_each_choice_and_kept_without_checkpoints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, rows = home("mnist", FEW, 0), [{"settings": s, "validation": 50.0} for s in FEW.choices()]
    rivals_tuning.keep({"naive": rows})
    play("mnist", FEW, 0)
    assert spec_of(folder) == FEW.spec("mnist", {"learner.learning_rate": 0.001}, 0)
    assert capsys.readouterr().out == f"{folder.name}: {accuracy(folder):.2f} %\n"
    assert Record(folder).is_finished
    assert not (folder / "checkpoint").exists()
    play("mnist", FEW, 0)
    assert not capsys.readouterr().out
    rivals_tuning.keep({"naive": [rows[0], rows[1] | {"validation": 51.0}]})
    play("mnist", FEW, 0)
    assert spec_of(folder) == FEW.spec("mnist", {"learner.learning_rate": 0.01}, 0)
