"""Numbers in the rivals' page are those that were measured, with settings that test images did not choose."""

import json
from pathlib import Path

import pytest
from benchmarks import rivals_tuning
from benchmarks.rivals_cases import CASES, Case
from benchmarks.rivals_page import PAGE, with_tables
from benchmarks.rivals_runs import RESULTS, home, spec_of
from benchmarks.rivals_tuning import SEED, chosen

from everlearn import learners

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
