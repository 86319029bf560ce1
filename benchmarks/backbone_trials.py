"""Trials of backbones, normalization and averaged weights: `python -m benchmarks.backbone_trials [NAME...]`.

Stream with default settings, seed 100, which no reported run uses; accuracy on validation images. The joint
bound is one task of all classes; replay learns tasks of 10 classes. Rows are added to
results/rivals/backbones.jsonl, which also has trials of networks that were not kept (`loop` is "bare").
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.rivals_tuning import validation_accuracy
from everlearn.networks import flops_per_image, make_backbone
from everlearn.runs import RunSpec

TRIED = Path(__file__).parent.parent / "results" / "rivals" / "backbones.jsonl"
SEED = 100
CLASSES_PER_TASK = 10
COMMON = {"seed": SEED, "stream.seed": SEED, "device": "cpu", "evaluation.forward_transfer": False}


def joint(n_classes: int, epochs: int, *, amp: bool = False, **learner: Any) -> RunSpec:
    """Training on all classes in one task; `naive` does what `joint` would do, without storing the images."""
    size = {"stream.classes_per_task": n_classes, "n_tasks": 1, "epochs": epochs, "batch_size": 128}
    return _spec("naive", {**size, "amp": amp}, learner)


def replay(memory_size: int, n_tasks: int, *, amp: bool = False, **learner: Any) -> RunSpec:
    """Experience replay, each new image once with three replayed ones."""
    size = {"n_tasks": n_tasks, "batch_size": 32, "evaluation.every_n_tasks": n_tasks, "amp": amp}
    return _spec("er", size, {"replay_size": 96, "memory_size": memory_size, **learner})


def _spec(name: str, size: dict[str, Any], learner: dict[str, Any]) -> RunSpec:
    own = {f"learner.{key}": value for key, value in learner.items()}
    return RunSpec.make(learner=name, settings={**COMMON, **size, **own})


TRIALS = {
    "joint 100": joint(100, 3),
    "joint 100, pooled": joint(100, 3, backbone="pooled", norm="renorm"),
    "joint 1000, bfloat16": joint(1000, 2, amp=True),
    "er 5k": replay(5000, 10),
    "er 5k, bfloat16": replay(5000, 10, amp=True),
    "er 5k, batch": replay(5000, 10, norm="batch"),
    "er 5k, group": replay(5000, 10, norm="group"),
    "er 5k, last weights": replay(5000, 10, average=0.0),
    "er 5k, pooled": replay(5000, 10, backbone="pooled", learning_rate=1e-3, average=0.0),
}


def tried() -> list[dict[str, Any]]:
    """All stored trials."""
    return [json.loads(line) for line in TRIED.read_text().splitlines()] if TRIED.exists() else []


def table() -> str:
    """All stored trials, in Markdown."""
    lines = [
        "| | classes | epochs | normalization | learning rate | average | MFLOPs | last weights, % "
        "| averaged weights, % | CPU s | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_line, tried())])


def _line(row: dict[str, Any]) -> str:
    last = row.get("last_weights", "" if row["average"] else row["validation"])
    cells = [
        row["trial"], row["classes"], row["epochs"], row["norm"], row["learning_rate"], row["average"],
        row["mflops"], last, row["validation"] if row["average"] else "", row.get("cpu_seconds", ""),
        row.get("note", ""),
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def run_trial(name: str) -> dict[str, Any]:
    """Run a trial; its settings, accuracy in percent on validation images and CPU seconds."""
    spec, start = TRIALS[name], time.process_time()
    accuracy = validation_accuracy(spec)
    learner = spec.learner.settings
    return {
        "trial": name,
        "loop": "everlearn",
        "classes": (spec.n_tasks or 1) * spec.stream.to_mapping()["classes_per_task"],
        "epochs": spec.epochs,
        "amp": spec.amp,
        "norm": learner["norm"],
        "learning_rate": learner["learning_rate"],
        "average": learner["average"],
        "mflops": round(flops_per_image(make_backbone(learner["backbone"], (64, 64), 0), (64, 64)) / 1e6, 2),
        "validation": round(accuracy, 2),
        "cpu_seconds": round(time.process_time() - start),
        "learner": {"name": spec.learner.name, **learner},
    }


def main(names: list[str]) -> None:
    """Run the named trials, or all that are missing, and store each row."""
    done = {row["trial"] for row in tried()}
    for name in names or [name for name in TRIALS if name not in done]:
        row = run_trial(name)
        print(row, flush=True)
        with TRIED.open("a") as rows:
            rows.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
