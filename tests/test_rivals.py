"""Numbers of docs/rivals.md are those of the records; settings are selected on validation images."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import rivals_runs, rivals_tuning
from benchmarks.rivals_cases import CASES, Case
from benchmarks.rivals_page import PAGE, beside, with_tables
from benchmarks.rivals_runs import RESULTS, accuracy, result_folder, run_case, spec_of
from benchmarks.rivals_tuning import SEED, chosen, tried, tune, validation_accuracy

from everlearn import learners
from everlearn.runs import Record, RunState
from everlearn.streams import Batch
from tests.streams.images.files import write_mnist

CASE = Case("er-7", "er", grid={"learner.learning_rate": (0.1, 0.2), "learner.replay_size": (1, 2)})


def test_page_matches_the_stored_records() -> None:
    text = PAGE.read_text("utf-8")
    assert with_tables(text) == text, "run `python -m benchmarks.rivals_page`"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stored_records_have_the_settings_of_their_case(case: Case) -> None:
    for stream in ("mnist", "fashion"):
        for seed in case.seeds:
            if (folder := result_folder(stream, case, seed)).is_dir():
                assert spec_of(folder) == case.spec(stream, chosen(case), seed)


def test_every_stored_record_belongs_to_a_case() -> None:
    expected = {
        result_folder(stream, case, seed)
        for stream in ("mnist", "fashion")
        for case in CASES
        for seed in case.seeds
    }
    assert {folder for folder in RESULTS.iterdir() if folder.is_dir()} <= expected


def test_tuning_seed_is_not_reported() -> None:
    assert all(SEED not in case.seeds for case in CASES)


def test_all_baselines_are_listed() -> None:
    named = {"naive", "ewc", "si", "l2", "lwf", "joint", "er", "gdumb", "icarl", "der", "der++", "a-gem"}
    assert {case.learner for case in CASES} == named <= set(learners.names())


def test_whole_grid_is_tried() -> None:
    rate, size = "learner.learning_rate", "learner.replay_size"
    assert list(CASE.choices()) == [{rate: r, size: n} for r in (0.1, 0.2) for n in (1, 2)]
    assert list(Case("naive", "naive").choices()) == [{}]


def test_best_validation_accuracy_is_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals_tuning, "TRIED", tmp_path / "tuning.json")
    first, _, third, _ = CASE.choices()
    assert chosen(CASE) == first
    rows = [
        {"settings": first, "validation": 20.0},
        {"settings": third, "validation": 90.0},
        {"settings": {"learner.learning_rate": 9}, "validation": 99.0},  # outside the grid
    ]
    (tmp_path / "tuning.json").write_text(json.dumps({"er-7": rows}))
    assert chosen(CASE) == third


@pytest.mark.parametrize(
    ("ours", "row"),
    [
        ([], "| er-7 | 90 | not run yet | 0 | | |"),
        ([87.5], "| er-7 | 90 | 87.5 | 1 | -2.5 | within 3 |"),
        ([94.0, 95.0], "| er-7 | 90 | 94.5 (94.0 to 95.0) | 2 | +4.5 | **outside** |"),
    ],
)
def test_table_row(ours: list[float], row: str) -> None:
    assert beside(Case("er-7", "er", published=90.0), ours) == row


FEW = Case("naive", "naive", {"batch_size": 8}, grid={"learner.learning_rate": (0.001, 0.01)})


@pytest.fixture
def few_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small dataset in place of MNIST, and temporary output folders."""
    write_mnist(tmp_path, n_train=200, n_test=50)
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    monkeypatch.setattr(rivals_runs, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(rivals_runs, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(rivals_tuning, "TRIED", tmp_path / "results" / "tuning.json")


@pytest.mark.usefixtures("few_digits")
def test_trials_are_evaluated_on_validation_images() -> None:
    spec = FEW.spec("mnist", {}, SEED)
    state = RunState(spec)
    list(state.events())
    held_out = Batch.concatenate([task.val for task in state.stream.take(5)])
    right = state.learner.predict(held_out.images) == held_out.labels
    assert 0 < right.mean() < 1
    assert validation_accuracy(spec) == pytest.approx(100 * np.mean(right))


@pytest.mark.usefixtures("few_digits")
def test_trials_are_stored_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    tune(FEW)
    assert [row["settings"] for row in tried()["naive"]] == list(FEW.choices())
    assert capsys.readouterr().out.count("validation") == 2
    tune(FEW)
    assert not capsys.readouterr().out


@pytest.mark.usefixtures("few_digits")
def test_case_runs_once_and_is_stored_without_checkpoints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, rows = (
        result_folder("mnist", FEW, 0),
        [{"settings": s, "validation": 50.0} for s in FEW.choices()],
    )
    rivals_tuning.keep({"naive": rows})
    run_case("mnist", FEW, 0)
    assert spec_of(folder) == FEW.spec("mnist", {"learner.learning_rate": 0.001}, 0)
    assert capsys.readouterr().out == f"{folder.name}: {accuracy(folder):.2f} %\n"
    assert Record(folder).is_finished
    assert not (folder / "checkpoint").exists()
    run_case("mnist", FEW, 0)
    assert not capsys.readouterr().out
    rivals_tuning.keep({"naive": [rows[0], rows[1] | {"validation": 51.0}]})
    run_case("mnist", FEW, 0)
    assert spec_of(folder) == FEW.spec("mnist", {"learner.learning_rate": 0.01}, 0)
