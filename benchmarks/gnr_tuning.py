"""Tune the settings of GNR and AR1: `python -m benchmarks.gnr_tuning [SERIES...]` tries what is untried.

Every series of the laptop scale is tuned in the same way, those without replay too: first the learning rate
of the head, then that of the backbone, then the number of replayed activations per batch, each with the best
values of those before. If the best learning rate of the head is at the end of the grid, the grid is extended.
The score is the accuracy on the full test set of a stream whose seed no reported run has. Learning rates of
the head that score close to the best are scored again under a second such seed, because under a single seed a
learning rate at the edge of divergence can score best. All trials are kept in results/gnr/tuning.json;
`papers.gnr.scales` has the best ones.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from everlearn import files, runs
from everlearn.papers.gnr import GNR
from everlearn.papers.gnr.scales import CORRUPTED
from everlearn.runs.events import Scored

Choice = dict[str, Any]
Trial = dict[str, Any]

LAPTOP = GNR.scale("laptop")
TRIALS = Path(__file__).parent.parent / "results" / "gnr" / "tuning.json"
SEED, SECOND_SEED = 9, 8
CLOSE = 0.02
"""Difference of accuracy to the best up to which a learning rate of the head is scored again."""
START: Choice = {"head_lr": 0.01, "backbone_lr": 1e-4}
HEAD_LRS = {"nc": (0.0001, 0.0003, 0.001, 0.003), "nic": (0.003, 0.03, 0.1)}
"""Learning rates of the head besides the first; tasks of NC are longer and need smaller ones."""
ALL_HEAD_LRS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Extension of the grid in both directions."""
BACKBONE_LRS = (1e-5, 1e-3)
REPLAY_SIZES = {"nc": (8, 16, 32), "nic": (32, 16, 8)}
"""Replayed activations per batch, the share of the paper first."""
CORRUPTED_REPLAY_SIZES = {"nc": (8, 4, 2), "nic": (32, 16, 8)}
"""The same for corrupted activations."""


def tuned_series() -> list[str]:
    """Names of all variants, and of both roles with fully corrupted activations.

    Half corrupted and unguided ones use the settings of fully corrupted ones; lines with real images share
    theirs (`gnr_real_tuning`).
    """
    sprites = [name for name in LAPTOP.series if not name.startswith("real ")]
    return [name for name in sprites if "," not in name or CORRUPTED in name]


def trials(name: str) -> list[Trial]:
    """The trials of a series: settings and accuracy."""
    return _read().get(name, [])


def _read() -> dict[str, list[Trial]]:
    return json.loads(TRIALS.read_text()) if TRIALS.exists() else {}


def best(name: str) -> Choice:
    """The best settings of a series; of close ones, the best under both seeds."""
    chosen: Choice = max(close_trials(name), key=lambda trial: trial["accuracy"] + trial.get("again", 0.0))[
        "settings"
    ]
    return chosen


def close_trials(name: str) -> list[Trial]:
    """The best trial with each learning rate of the head, if it is close to the best of all."""
    ranked = sorted(trials(name), key=lambda trial: -float(trial["accuracy"]))
    first = {trial["settings"]["head_lr"]: trial for trial in reversed(ranked)}
    return [trial for trial in first.values() if trial["accuracy"] >= ranked[0]["accuracy"] - CLOSE]


def search(name: str) -> None:
    """Run all trials of a series that are missing."""
    choice = START | ({"replay_size": _replay_sizes(name)[0]} if _replays(name) else {})
    for setting, values in _grid(name).items():
        choice = max((choice, *(choice | {setting: value} for value in values)), key=partial(_score, name))
        if setting == "head_lr":
            choice = _extend(name, choice, (choice[setting], START[setting], *values))
    _score_again(name)


def _score_again(name: str) -> None:
    close = close_trials(name)
    for trial in close if len(close) > 1 else []:
        if "again" not in trial:
            again = trial | {"again": accuracy(name, trial["settings"], SECOND_SEED)}
            print(name, again, flush=True)
            _keep(name, [again if old == trial else old for old in trials(name)])


def _extend(name: str, choice: Choice, tried: tuple[float, ...]) -> Choice:
    """Extend the grid as long as the best value is at its end."""
    for end, step in ((min(tried), -1), (max(tried), 1)):
        place = ALL_HEAD_LRS.index(end) + step
        while choice["head_lr"] == ALL_HEAD_LRS[place - step] and 0 <= place < len(ALL_HEAD_LRS):
            further = choice | {"head_lr": ALL_HEAD_LRS[place]}
            choice = max((choice, further), key=partial(_score, name))
            place += step
    return choice


def _grid(name: str) -> dict[str, tuple[Any, ...]]:
    grid: dict[str, tuple[Any, ...]] = {"head_lr": HEAD_LRS[_scenario(name)], "backbone_lr": BACKBONE_LRS}
    return grid | ({"replay_size": _replay_sizes(name)[1:]} if _replays(name) else {})


def _replay_sizes(name: str) -> tuple[int, ...]:
    return (CORRUPTED_REPLAY_SIZES if CORRUPTED in name else REPLAY_SIZES)[_scenario(name)]


def _scenario(name: str) -> str:
    return name.split()[0]


def _replays(name: str) -> bool:
    return bool(LAPTOP.settings_of(name).get("learner.source", "none") != "none")


def _score(name: str, choice: Choice) -> float:
    """The accuracy with some settings, from the trials or from a new one."""
    for trial in trials(name):
        if trial["settings"] == choice:
            return float(trial["accuracy"])
    trial = {"settings": choice, "accuracy": accuracy(name, choice)}
    print(name, trial, flush=True)
    _keep(name, [*trials(name), trial])
    return float(trial["accuracy"])


def accuracy(name: str, choice: Choice, seed: int = SEED) -> float:
    """The accuracy on the full test set after the last task."""
    settings = {f"learner.{setting}": value for setting, value in choice.items()}
    spec = LAPTOP.spec(name, seed, settings | {"evaluation.every_n_tasks": 1000})
    scored = [event for event in runs.run(spec) if isinstance(event, Scored)]
    return round(scored[-1].accuracy, 4)


def _keep(name: str, rows: list[Trial]) -> None:
    TRIALS.parent.mkdir(parents=True, exist_ok=True)
    files.write(TRIALS, (json.dumps(_read() | {name: rows}, indent=1) + "\n").encode())


if __name__ == "__main__":
    for name in tuned_series():
        if name in sys.argv[1:] or not sys.argv[1:]:
            search(name)
            print(name, "best:", best(name), flush=True)
