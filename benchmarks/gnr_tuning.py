"""Choose the learning rates of GNR: `python -m benchmarks.gnr_tuning [CASE...]` runs what is missing.

All series of a case have the same learning rates. They are chosen by the series PR-OD alone, which replays
real activations and is the upper bound, so that rates cannot be tuned for a claim. Rates are searched one
after the other, with the best values of the previous ones, on two seeds that no reported run has. A rate is
rejected if a loss exceeds three times the first loss of its task or of the run. Of rates within two points
of the best accuracy, the smallest is chosen. All trials are stored in results/gnr-real/tuning.json, and
`papers.gnr.real` has the chosen rates. Trials with frozen statistics, other batch sizes or other epochs,
which no case runs, are in other_trials.json beside it.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from everlearn import files, runs
from everlearn.papers.gnr import GNR
from everlearn.runs.events import Scored, TrainStep

Rates = dict[str, float]
Trial = dict[str, Any]

LAPTOP = GNR.scale("laptop")
TRIALS = Path(__file__).parent.parent / "results" / "gnr-real" / "tuning.json"
SEEDS = (8, 9)
CLOSE, MAX_GROWTH = 0.02, 3.0


class Case(NamedTuple):
    """Series with the same learning rates."""

    series: str  # which chooses the rates
    start: Rates
    grid: dict[str, tuple[float, ...]]  # in ascending order


CASES = {
    "conv5_4 nc": Case(
        "nc PR-OD",
        {"learning_rate": 0.0003, "head_lr": 5e-4, "backbone_lr": 5e-5},
        {"learning_rate": (0.0003, 0.03)},
    ),
    "last block nc": Case(
        "last block nc PR-OD",
        {"learning_rate": 0.01, "head_lr": 0.01, "backbone_lr": 1e-4},
        {"head_lr": (0.003, 0.01, 0.03), "backbone_lr": (1e-4, 1e-3)},
    ),
}


def choose(name: str) -> Rates:
    """The rates of a case; missing trials are run."""
    case = CASES[name]
    chosen = case.start
    for setting, values in case.grid.items():
        trials = [trial(name, chosen | {setting: value}) for value in values]
        stable = [each for each in trials if each["growth"] <= MAX_GROWTH]
        best = max(each["accuracy"] for each in stable)
        chosen = next(each["rates"] for each in stable if each["accuracy"] >= best - CLOSE)
    return chosen


def trial(name: str, rates: Rates) -> Trial:
    """Mean accuracy over the seeds and the largest growth of the loss, from the file or from new runs."""
    known = json.loads(TRIALS.read_text()) if TRIALS.exists() else {}
    for each in known.get(name, []):
        if each["rates"] == rates:
            return dict(each)
    found = [_run(name, rates, seed) for seed in SEEDS]
    accuracy = round(sum(each[0] for each in found) / len(found), 4)
    new = {"rates": rates, "accuracy": accuracy, "growth": round(max(each[1] for each in found), 3)}
    print(name, new, flush=True)
    files.make_folder(TRIALS.parent)
    rows = known | {name: [*known.get(name, []), new]}
    files.write(TRIALS, (json.dumps(rows, indent=1) + "\n").encode())
    return new


def _run(name: str, rates: Rates, seed: int) -> tuple[float, float]:
    """Final accuracy, and the largest loss relative to the first one of its task or of the run."""
    case = CASES[name]
    settings = {f"learner.{setting}": value for setting, value in rates.items()}
    settings |= {"evaluation.every_n_tasks": 1000}
    losses: dict[int, list[float]] = {}
    accuracy = 0.0
    for event in runs.run(LAPTOP.spec(case.series, seed, settings)):
        if isinstance(event, TrainStep):
            losses.setdefault(event.task, []).append(event.losses["loss"])
        elif isinstance(event, Scored):
            accuracy = event.accuracy
    return accuracy, max(max(values) / max(values[0], losses[0][0]) for values in losses.values())


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        print(name, "chosen:", choose(name), flush=True)
