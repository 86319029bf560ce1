"""Settings for negative replay: `python -m benchmarks.negative_tuning [NAME...]` tries what is untried.

Every line of the laptop scale is tuned alike, those that replay nothing too: from one start the step size of
the head, then that of the body, then the share of replayed patterns are varied, each with the best of those
before; where the best step size of the head is the last one tried, the next is tried too. A choice is judged
by the whole test set of a stream with a seed that no reported run has. Step sizes of the head that come close
to the best are judged again under another such seed, since one seed can praise a step size that is about to
be too large. All that was tried is kept in results/negative/tuning.json; `papers.negative.laptop` has the
best of it.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.papers.exhibit import Line
from everlearn.papers.negative import NEGATIVE
from everlearn.papers.negative.dial import WORN_OUT
from everlearn.runs import Play, RunSpec
from everlearn.runs import events as tell

Choice = dict[str, Any]
Row = dict[str, Any]

TRIED = Path(__file__).parent.parent / "results" / "negative" / "tuning.json"
SEED, OTHER_SEED = 9, 8
CLOSE = 0.02
"""Accuracy by which a step size of the head may be below the best to be judged again."""
START: Choice = {"head_rate": 0.01, "body_rate": 1e-4}
HEADS = {"nc": (0.0001, 0.0003, 0.001, 0.003), "nic": (0.003, 0.03, 0.1)}
"""Step sizes of the head beside the start's; tasks of NC are longer, and want smaller ones."""
LADDER = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Where to go on if the best of them is the smallest or the largest."""
BODIES = (1e-5, 1e-3)
REPLAYED = {"nc": (8, 16, 32), "nic": (32, 16, 8)}
"""Patterns replayed beside each batch of new ones, the paper's share first."""
FEWER = {"nc": (8, 4, 2), "nic": (32, 16, 8)}
"""The same where patterns are worn out."""


def lines() -> list[Line]:
    """Those that are tuned: all variants, and both roles where patterns are worn out.

    Half-worn and unguided patterns are replayed as worn-out ones are.
    """
    known = NEGATIVE.scale("laptop").lines
    return [line for line in known if "," not in line.name or WORN_OUT in line.name]


def tried(name: str) -> list[Row]:
    """What was tried for a line: settings, and the share of right answers."""
    found: dict[str, list[Row]] = json.loads(TRIED.read_text()) if TRIED.exists() else {}
    return found.get(name, [])


def choice(name: str) -> Choice:
    """The best that was tried for a line; of those that come close, the best under both seeds."""
    best: Choice = max(rivals(name), key=lambda row: row["accuracy"] + row.get("again", 0.0))["settings"]
    return best


def rivals(name: str) -> list[Row]:
    """The best with each step size of the head, as far as they come close to the best of all."""
    rows = sorted(tried(name), key=lambda row: -float(row["accuracy"]))
    first = {row["settings"]["head_rate"]: row for row in reversed(rows)}
    return [row for row in first.values() if row["accuracy"] >= rows[0]["accuracy"] - CLOSE]


def search(line: Line) -> None:
    """Try what has not been tried."""
    best = _start(line)
    for name, values in _grid(line).items():
        best = max((best, *(best | {name: value} for value in values)), key=partial(_worth, line))
        if name == "head_rate":
            best = _outwards(line, best, (best[name], START[name], *values))
    _judge_again(line)


def _judge_again(line: Line) -> None:
    close = rivals(line.name)
    for row in close if len(close) > 1 else []:
        if "again" not in row:
            again = row | {"again": judged(line, row["settings"], OTHER_SEED)}
            print(line.name, again, flush=True)
            _keep(line.name, [again if old == row else old for old in tried(line.name)])


def _outwards(line: Line, best: Choice, tried: tuple[float, ...]) -> Choice:
    """Go on along the ladder while the best lies at the edge of what was tried."""
    for edge, step in ((min(tried), -1), (max(tried), 1)):
        place = LADDER.index(edge) + step
        while best["head_rate"] == LADDER[place - step] and 0 <= place < len(LADDER):
            best = max((best, best | {"head_rate": LADDER[place]}), key=partial(_worth, line))
            place += step
    return best


def _start(line: Line) -> Choice:
    return START | ({"replay_size": _replayed(line)[0]} if _replays(line) else {})


def _grid(line: Line) -> dict[str, tuple[Any, ...]]:
    grid: dict[str, tuple[Any, ...]] = {"head_rate": HEADS[_scenario(line)], "body_rate": BODIES}
    return grid | ({"replay_size": _replayed(line)[1:]} if _replays(line) else {})


def _replayed(line: Line) -> tuple[int, ...]:
    return (FEWER if WORN_OUT in line.name else REPLAYED)[_scenario(line)]


def _scenario(line: Line) -> str:
    return line.name.split()[0]


def _replays(line: Line) -> bool:
    return bool(line.settings.get("learner.source", "none") != "none")


def _worth(line: Line, choice: Choice) -> float:
    """The share of right answers with a choice; tried if it was not."""
    for row in tried(line.name):
        if row["settings"] == choice:
            return float(row["accuracy"])
    row = {"settings": choice, "accuracy": judged(line, choice)}
    print(line.name, row, flush=True)
    _keep(line.name, [*tried(line.name), row])
    return float(row["accuracy"])


def judged(line: Line, choice: Choice, seed: int = SEED) -> float:
    """The share of right answers to the whole test set at the end."""
    settings = dict(line.settings) | {f"learner.{name}": value for name, value in choice.items()}
    spec = RunSpec.make(
        stream=line.stream,
        learner=line.learner,
        settings=settings | {"seed": seed, "stream.seed": seed, "evaluation.every": 1000},
    )
    scored = [event for event in Play(spec).events() if isinstance(event, tell.Scored)]
    return round(sum(scored[-1].correct) / sum(scored[-1].total), 4)


def _keep(name: str, rows: list[Row]) -> None:
    TRIED.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, list[Row]] = json.loads(TRIED.read_text()) if TRIED.exists() else {}
    files.write(TRIED, (json.dumps(known | {name: rows}, indent=1) + "\n").encode())


if __name__ == "__main__":
    for line in lines():
        if line.name in sys.argv[1:] or not sys.argv[1:]:
            search(line)
            print(line.name, "best:", choice(line.name), flush=True)
