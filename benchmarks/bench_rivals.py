"""Known results: are the rivals as good, and as bad, here as where they were published?

Plays what is missing of Split-MNIST; `rivals_cases` says what is played, `rivals_runs` plays Fashion too.
"""

from collections.abc import Iterator
from statistics import mean

from benchmarks.rivals_cases import CASES, Case
from benchmarks.rivals_page import BAND
from benchmarks.rivals_runs import play, scores
from benchmarks.table import Row


def run() -> list[Row]:
    """Ours, and how far it is from what was published."""
    return [row for case in CASES for row in _rows(case)]


def _rows(case: Case) -> Iterator[Row]:
    for seed in case.seeds:
        play("mnist", case, seed)
    ours = scores("mnist", case)
    yield Row(f"{case.name}: ours", mean(ours), "%", (min(ours), max(ours)) if len(ours) > 1 else None)
    if case.published is not None:
        gap = abs(mean(ours) - case.published)
        yield Row(f"{case.name}: from {case.published:g} %", gap, "points", goal=BAND, at_most=True)
