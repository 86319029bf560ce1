"""Tune CCI-VAE and VASE: `python -m benchmarks.vase_tuning TRIALS.json` runs the trials that are missing.

A trial is {"series": "CCI-VAE", "seed": 8, "settings": {"learner.gamma": 25.0}}: a series of the laptop scale
with other settings, under a seed that no reported run has. After every environment it measures the probes,
the disentanglement of position in moving Fashion, and the latents in use. All trials are kept in
results/vase/tuning.json.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from everlearn import files
from everlearn.evaluation.disentanglement import dci, mig, sap
from everlearn.evaluation.environment_data import EnvironmentData, environment_data, probe_scores
from everlearn.papers.vase import VASE
from everlearn.runs.events import TaskEnded
from everlearn.runs.loop import RunState

Trial = dict[str, Any]

LAPTOP = VASE.scale("laptop")
TRIALS = Path(__file__).parent.parent / "results" / "vase" / "tuning.json"
N_TEST, N_TRAIN = 2000, 10_000
MIN_KL, MIN_IMPORTANCE = 0.1, 0.1
"""KL from which on a latent is in use; importance for x or y from which on it is a position latent."""
NO_EVALUATION = {"evaluation.every_n_batches": 0, "evaluation.every_n_tasks": 1000, "evaluation.n_images": 1}


def run_trial(trial: Trial) -> Trial:
    """The trial with its measurements after each environment."""
    settings = {**trial["settings"], **NO_EVALUATION, "threads": 1}
    state = RunState(LAPTOP.spec(trial["series"], trial["seed"], settings))
    data = environment_data(state.stream, state.n_tasks, N_TEST, N_TRAIN)
    start, stages = time.monotonic(), []
    for event in state.events():
        if isinstance(event, TaskEnded):
            stages.append(measure(state.learner, data, trial["seed"]) | {"losses": event.losses})
            stages[-1]["seconds"] = round(time.monotonic() - start)
            print(json.dumps(stages[-1]), flush=True)
    return trial | {"stages": stages}


def measure(learner: Any, data: list[EnvironmentData], seed: int) -> dict[str, Any]:
    """Probe scores and latents in use in each environment; disentanglement of position in the first."""
    result: dict[str, Any] = {
        "probes": {each.name: _rounded(probe_scores(learner, each, seed)) for each in data},
        "used": {each.name: _used(learner, each) for each in data},
    }
    moving = data[0]
    codes, factors = learner.encode(moving.test.images), moving.test.factors
    if factors is None:
        return result
    position = np.stack([factors.x, factors.y], axis=1)
    found = dci(codes, position)
    important = found.importances.max(axis=1) >= MIN_IMPORTANCE
    scores = {
        "dci": found.disentanglement, "completeness": found.completeness,
        "mig": mig(codes, position), "sap": sap(codes, position),
    }  # fmt: skip
    result |= _rounded(scores) | {"position_latents": int(important.sum())}
    result["importances"] = found.importances[important].round(2).tolist()
    if hasattr(learner, "environment_info"):
        result["environments"] = [
            {"active": int(i.active.sum()), "used": int(i.used.sum()), "capacity": round(i.capacity, 2)}
            for i in learner.environment_info()
        ]
        result["changes"] = learner.environment_changes()
    return result


def _used(learner: Any, data: EnvironmentData) -> dict[str, Any]:
    mean, std = learner.posterior(data.test.images)
    kl = (0.5 * (mean**2 + std**2 - 1) - np.log(std)).mean(axis=0)
    used = kl > MIN_KL
    return {
        "n": int(used.sum()),
        "kl": round(float(kl.sum()), 2),
        "min_std": round(float(std.mean(0).min()), 3),
    }


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in scores.items()}


def key(trial: Trial) -> str:
    """The series, seed and settings of a trial."""
    return json.dumps([trial["series"], trial["seed"], trial["settings"]], sort_keys=True)


def main(plan: Path) -> None:
    """Run all trials of a plan that are not done; the plan is read again after each."""
    while True:
        done = json.loads(TRIALS.read_text()) if TRIALS.exists() else []
        known = {key(trial) for trial in done}
        missing = [trial for trial in json.loads(plan.read_text()) if key(trial) not in known]
        if not missing:
            return
        print(key(missing[0]), flush=True)
        files.write(TRIALS, (json.dumps([*done, run_trial(missing[0])]) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
