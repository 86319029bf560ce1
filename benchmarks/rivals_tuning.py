"""Choose the rivals' settings: `python -m benchmarks.rivals_tuning [NAME...]` tries every case's grid.

A choice is judged by validation images, which are neither learned from nor tested on, and with a seed that no
reported run has. All that was tried is kept in results/rivals/tuning.json, from where the runs take the best.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.rivals_cases import CASES, Case, Settings
from everlearn import files
from everlearn.runs import Play, RunSpec

TRIED = Path(__file__).parent.parent / "results" / "rivals" / "tuning.json"
STREAM, SEED = "mnist", 100


def tried() -> dict[str, list[dict[str, Any]]]:
    """What was tried so far, by case: settings, and percent right on validation images."""
    found: dict[str, list[dict[str, Any]]] = json.loads(TRIED.read_text()) if TRIED.exists() else {}
    return found


def chosen(case: Case) -> Settings:
    """The best choice on validation images; the first of all before any was tried."""
    choices = list(case.choices())
    found = [row for row in tried().get(case.name, []) if row["settings"] in choices]
    best: Settings = max(found, key=lambda row: row["validation"])["settings"] if found else choices[0]
    return best


def tune(case: Case) -> None:
    """Try what has not been tried."""
    if not case.grid:
        return
    for settings in case.choices():
        done = tried().get(case.name, [])
        if not any(row["settings"] == settings for row in done):
            row = {"settings": settings, "validation": round(judged(case.spec(STREAM, settings, SEED)), 2)}
            print(f"{case.name}: {row}", flush=True)
            keep({**tried(), case.name: [*done, row]})


def judged(spec: RunSpec) -> float:
    """Percent right on the validation images of all tasks, after the last of them."""
    playing = Play(spec)
    for _ in playing.events():
        continue
    right = total = 0
    for task in playing.stream.take(playing.n_tasks):
        right += int((playing.learner.predict(task.val.images) == task.val.labels).sum())
        total += len(task.val)
    return 100.0 * right / total


def keep(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write down what was tried."""
    TRIED.parent.mkdir(parents=True, exist_ok=True)
    files.write(TRIED, (json.dumps(rows, indent=1) + "\n").encode())


if __name__ == "__main__":
    for case in CASES:
        if case.name in sys.argv[1:] or not sys.argv[1:]:
            tune(case)
