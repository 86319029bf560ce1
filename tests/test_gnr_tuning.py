"""Learning rates of GNR: chosen by one line, the smallest that works."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import gnr_tuning as tuning

from everlearn.papers.gnr import GNR

LAPTOP = GNR.scale("laptop")
CASE = "last block nc"
Rates = dict[str, float]


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The choice under given accuracies and growths, and the number of runs."""
    monkeypatch.setattr(tuning, "TRIALS", tmp_path / "gnr-real" / "tuning.json")
    runs: list[tuple[Rates, int]] = []

    def choose(result: Any) -> tuple[Rates, int]:
        def run(case: str, rates: Rates, seed: int) -> tuple[float, float]:
            runs.append((rates, seed))
            return result(rates)

        monkeypatch.setattr(tuning, "_run", run)
        first = tuning.choose(CASE)
        assert tuning.choose(CASE) == first, "the second search reads the file"
        return first, len(runs)

    return choose


def test_smallest_rate_within_two_points_of_the_best(chosen: Any) -> None:
    accuracy = {0.003: 0.60, 0.01: 0.63, 0.03: 0.645}
    rates, n_runs = chosen(lambda rates: (accuracy[rates["head_lr"]], 1.0))
    assert rates == {"learning_rate": 0.01, "head_lr": 0.01, "backbone_lr": 1e-4}
    assert n_runs == len(tuning.SEEDS) * 4, "no trial is run twice"


def test_rates_that_diverge_are_refused(chosen: Any) -> None:
    rates, _ = chosen(lambda rates: (10 * rates["head_lr"], 4.0 if rates["head_lr"] > 0.01 else 1.5))
    assert rates["head_lr"] == 0.01


@pytest.mark.parametrize("case", json.loads(tuning.TRIALS.read_text()))
def test_runs_have_the_chosen_rates_and_other_seeds(case: str) -> None:
    """The settings of the grid; all others are the paper's."""
    searched, choice = tuning.CASES[case].grid, tuning.choose(case)
    expected = {f"learner.{name}": choice[name] for name in searched}
    series, run = LAPTOP.series[tuning.CASES[case].series]
    assert expected.items() <= LAPTOP.settings_of(series.name).items()
    assert not set(run.seeds) & set(tuning.SEEDS)
