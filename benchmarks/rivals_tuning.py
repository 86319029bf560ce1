"""Hyper-parameter selection of the baselines: `python -m benchmarks.rivals_tuning [NAME...]`.

Settings are evaluated on validation images, which are used neither for training nor for testing, with a seed
that no reported run uses. All trials are stored in results/rivals/tuning.json; runs use the best.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.rivals_cases import CASES, Case, Settings
from everlearn import files
from everlearn.runs import RunSpec, RunState

TRIED = Path(__file__).parent.parent / "results" / "rivals" / "tuning.json"
STREAM, SEED = "mnist", 100


def tried() -> dict[str, list[dict[str, Any]]]:
    """The trials of each case: settings, and accuracy in percent on validation images."""
    found: dict[str, list[dict[str, Any]]] = json.loads(TRIED.read_text()) if TRIED.exists() else {}
    return found


def chosen(case: Case) -> Settings:
    """The best settings on validation images; the first of the grid before any trial."""
    choices = list(case.choices())
    found = [row for row in tried().get(case.name, []) if row["settings"] in choices]
    best: Settings = max(found, key=lambda row: row["validation"])["settings"] if found else choices[0]
    return best


def tune(case: Case) -> None:
    """Run the missing trials."""
    if not case.grid:
        return
    for settings in case.choices():
        done = tried().get(case.name, [])
        if not any(row["settings"] == settings for row in done):
            row = {
                "settings": settings,
                "validation": round(validation_accuracy(case.spec(STREAM, settings, SEED)), 2),
            }
            print(f"{case.name}: {row}", flush=True)
            keep({**tried(), case.name: [*done, row]})


def validation_accuracy(spec: RunSpec) -> float:
    """Accuracy in percent on the validation images of all tasks, after the last."""
    state = RunState(spec)
    for _ in state.events():
        continue
    right = total = 0
    for task in state.stream.take(state.n_tasks):
        right += int((state.learner.predict(task.val.images) == task.val.labels).sum())
        total += len(task.val)
    return 100.0 * right / total


def keep(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Store the trials."""
    TRIED.parent.mkdir(parents=True, exist_ok=True)
    files.write(TRIED, (json.dumps(rows, indent=1) + "\n").encode())


if __name__ == "__main__":
    for case in CASES:
        if case.name in sys.argv[1:] or not sys.argv[1:]:
            tune(case)
