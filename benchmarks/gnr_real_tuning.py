"""Choose the learning rates of `gnr-real`: `python -m benchmarks.gnr_real_tuning [SCENARIO...]`.

All lines have the same learning rates, and the line PR-OD alone chooses them, so that no claim can be tuned
for: replay of real activations is the upper bound. Rates are searched one after the other, each with the best
of those before, under two seeds that no reported run has. A rate whose loss exceeds three times its first
value in a task is refused; of rates within two points of the best the smallest is taken. All trials are kept
in results/gnr-real/tuning.json, so that the search can be resumed; `papers.gnr.real` has the chosen rates.
"""

import json
import sys
from pathlib import Path
from typing import Any

from everlearn import files, runs
from everlearn.papers.gnr import GNR
from everlearn.papers.gnr.real import RATES
from everlearn.runs.events import Scored, TrainStep

Rates = dict[str, float]
Trial = dict[str, Any]

LAPTOP = GNR.scale("laptop")
TRIALS = Path(__file__).parent.parent / "results" / "gnr-real" / "tuning.json"
SEEDS = (8, 9)
LINE = "PR-OD"
CLOSE, MAX_GROWTH = 0.02, 3.0
GRID = {"head_lr": (0.003, 0.01, 0.03), "backbone_lr": (1e-4, 1e-3)}
START: Rates = {"learning_rate": 0.01, "head_lr": 0.01, "backbone_lr": 1e-4}


def choose(scenario: str) -> Rates:
    """The rates of a scenario; missing trials are run."""
    chosen = START
    for name, values in GRID.items():
        trials = [trial(scenario, chosen | {name: value}) for value in values]
        stable = [each for each in trials if each["growth"] <= MAX_GROWTH]
        best = max(each["accuracy"] for each in stable)
        chosen = next(each["rates"] for each in stable if each["accuracy"] >= best - CLOSE)
    return chosen


def trial(scenario: str, rates: Rates) -> Trial:
    """Mean accuracy over the seeds and the largest growth of the loss, from the file or from new runs."""
    known = json.loads(TRIALS.read_text()) if TRIALS.exists() else {}
    for each in known.get(scenario, []):
        if each["rates"] == rates:
            return dict(each)
    found = [_run(scenario, rates, seed) for seed in SEEDS]
    accuracy = round(sum(each[0] for each in found) / len(found), 4)
    new = {"rates": rates, "accuracy": accuracy, "growth": round(max(each[1] for each in found), 3)}
    print(scenario, new, flush=True)
    files.make_folder(TRIALS.parent)
    rows = known | {scenario: [*known.get(scenario, []), new]}
    files.write(TRIALS, (json.dumps(rows, indent=1) + "\n").encode())
    return new


def _run(scenario: str, rates: Rates, seed: int) -> tuple[float, float]:
    """Final accuracy, and the largest loss of a batch over that of the first batch of its task."""
    settings = {f"learner.{name}": value for name, value in rates.items()}
    spec = LAPTOP.spec(f"real {scenario} {LINE}", seed, settings | {"evaluation.every_n_tasks": 1000})
    losses: dict[int, list[float]] = {}
    accuracy = 0.0
    for event in runs.run(spec):
        if isinstance(event, TrainStep):
            losses.setdefault(event.task, []).append(event.losses["loss"])
        elif isinstance(event, Scored):
            accuracy = event.accuracy
    return accuracy, max(max(values) / values[0] for values in losses.values())


if __name__ == "__main__":
    for scenario in sys.argv[1:] or RATES:
        print(scenario, "chosen:", choose(scenario), flush=True)
