"""`everlearn benchmark` and `everlearn leaderboard`: score cards of learners."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import Assignments, check_path, read_assignments
from everlearn.cli.output import CommandResult, ConsoleArg, details, table
from everlearn.cli.run import RECORDS
from everlearn.cli.sweep import OptionalInt, default_gpus
from everlearn.errors import BadInput
from everlearn.runs import sweep as sweeps

if TYPE_CHECKING:
    from everlearn.cli.progress import SweepOutcome
    from everlearn.reports.score_card import ScoreCard

FOLDER = RECORDS / "leaderboard"
Folder = Annotated[Path, Parameter(metavar="DIR")]
Page = Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")]


def benchmark(
    folder: Folder = FOLDER,
    /,
    *,
    learner: str,
    set: Assignments = (),
    size: str = "small",
    seeds: OptionalInt = None,
    workers: OptionalInt = None,
    name: str = "",
    console: ConsoleArg,
) -> CommandResult:
    """Run the suite of the leaderboard with a learner, and write its score card.

    Ctrl-C saves and stops all runs; the same command continues them. Evaluations that are impossible for the
    learner are "not applicable".

    Args:
        folder: Folder of score cards and runs.
        learner: The learner, also as file.py:Class or package.module:Class.
        set: A setting of the learner, repeatable, such as memory_size=500.
        size: smoke (a minute, tests that it runs), small (minutes) or full (about an hour on two cores for a
            light learner).
        seeds: Number of seeds; default: 1 for smoke, else 3.
        workers: Number of parallel runs; default: one per core.
        name: Name in the leaderboard; default: the learner and its settings.
    """
    from everlearn.cli.progress import show_sweep
    from everlearn.reports.score_card import make_card
    from everlearn.runs.sweep.suite import SuiteEntry, get_size

    settings = read_assignments(set, example="memory_size=500", section="learner.")
    entry = SuiteEntry(learner, get_size(size), settings, name)
    n_seeds = entry.size.n_seeds if seeds is None else seeds
    jobs = entry.jobs(check_path(folder), n_seeds)
    outcome = None
    if jobs:
        capacity = sweeps.Capacity(workers=workers, gpus=default_gpus(jobs))
        outcome = show_sweep(sweeps.run_jobs(jobs, capacity=capacity), console)
    failures = {each.record: each.reason for each in outcome.failed} if outcome else {}
    card = make_card(entry, folder, n_seeds, failures)
    return _result(card, card.write(entry.folder(folder)), outcome)


def _result(card: "ScoreCard", path: Path, outcome: "SweepOutcome | None") -> CommandResult:
    data = {"card": str(path), **card.to_json()}
    title = f"{card.name}, size {card.size}, {len(card.seeds)} seed" + "s" * (len(card.seeds) != 1)

    def render() -> Any:
        lines = table(("", "score", "meaning"), card.rows())
        notes = outcome.messages() if outcome else []
        return details(title, [], lines, *notes, *_legend([card]), f"The score card is {path}")

    return CommandResult(data, render, outcome.exit_code if outcome else 0)


def _legend(cards: "list[ScoreCard]") -> list[str]:
    from everlearn.evaluation.formatting import LEGEND

    return [f"{LEGEND}."] if any(len(card.seeds) > 1 for card in cards) else []


def leaderboard(folder: Folder = FOLDER, /, *, size: str = "", out: Page = None) -> CommandResult:
    """List the score cards of all learners.

    Args:
        folder: Folder that `everlearn benchmark` wrote to.
        size: Only cards of this size: smoke, small or full.
        out: A .md file to write the tables to.
    """
    from everlearn.reports.leaderboard import Leaderboard
    from everlearn.reports.score_card import read_cards
    from everlearn.runs.sweep.suite import get_size

    if size:
        get_size(size)
    if out is not None:
        files.check_output(out, [".md"])
    cards = [card for card in read_cards(check_path(folder)) if not size or card.size == size]
    if not cards:
        command = shlex.join(["everlearn", "benchmark", "--learner", "er", str(folder)])
        raise BadInput(f"{folder} has no score cards; make one with `{command}`")
    board = Leaderboard(cards)
    if out is not None:
        files.write(out, board.to_markdown().encode())
    data = {"cards": board.rows(), "out": None if out is None else str(out)}
    return CommandResult(data, board.text)
