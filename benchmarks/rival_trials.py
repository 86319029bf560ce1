"""Short trials of the newer baselines on sprites: `python -m benchmarks.rival_trials [NAME...]`.

Sprites of 32 px, 3 tasks of 10 classes, 3 epochs, on seeds that no reported run uses; accuracy on the
validation images of all tasks after the last. Rows are added to results/rivals/sprites.jsonl.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.rivals_tuning import validation_accuracy
from everlearn.runs import RunSpec

TRIED = Path(__file__).parent.parent / "results" / "rivals" / "sprites.jsonl"
SEEDS = (8, 9)
COMMON = {
    "stream.image_size": 32,
    "n_tasks": 3,
    "epochs": 3,
    "batch_size": 32,
    "device": "cpu",
    "evaluation.every_n_tasks": 3,
    "evaluation.forward_transfer": False,
}
REPLAY = {"memory_size": 500, "replay_size": 32}

TRIALS: dict[str, tuple[str, dict[str, Any]]] = {
    "er": ("er", REPLAY),
    "uer": ("uer", REPLAY),
    "refresh": ("refresh", REPLAY),
    "refresh, rate 1e-3": ("refresh", {**REPLAY, "unlearning_rate": 1e-3}),
    "refresh, rate 1e-2": ("refresh", {**REPLAY, "unlearning_rate": 1e-2}),
    "lwf": ("lwf", {}),
    "prd": ("prd", {}),
    "uer, temperature 0.2": ("uer", {**REPLAY, "temperature": 0.2}),
    "prd, relations 16": ("prd", {"relation_weight": 16.0}),
    "prd, temperature 0.2": ("prd", {"relation_temperature": 0.2}),
}


def tried() -> list[dict[str, Any]]:
    """All stored trials."""
    return [json.loads(line) for line in TRIED.read_text().splitlines()] if TRIED.exists() else []


def run(name: str, seed: int) -> dict[str, Any]:
    """The row of a trial."""
    learner, own = TRIALS[name]
    settings = {**COMMON, "seed": seed, "stream.seed": seed}
    settings |= {f"learner.{key}": value for key, value in own.items()}
    start = time.process_time()
    accuracy = validation_accuracy(RunSpec.make(learner=learner, settings=settings))
    seconds = round(time.process_time() - start)
    return {
        "trial": name,
        "learner": learner,
        "settings": own,
        "seed": seed,
        "validation": round(accuracy, 2),
        "cpu_seconds": seconds,
    }


def main(names: list[str]) -> None:
    for seed in SEEDS:
        for name in names or TRIALS:
            if any(row["trial"] == name and row["seed"] == seed for row in tried()):
                continue
            row = run(name, seed)
            print(row, flush=True)
            with TRIED.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
