"""Baselines on Split-MNIST beside published results.

Runs what is missing; `rivals_cases` lists the cases, `rivals_runs` also runs Split-Fashion.
"""

from collections.abc import Iterator
from statistics import mean

from benchmarks.rivals_cases import CASES, Case
from benchmarks.rivals_page import BAND
from benchmarks.rivals_runs import run_case, scores
from benchmarks.table import Row


def run() -> list[Row]:
    """Accuracy of each case, and its difference from the published result."""
    return [row for case in CASES for row in _rows(case)]


def _rows(case: Case) -> Iterator[Row]:
    for seed in case.seeds:
        run_case("mnist", case, seed)
    ours = scores("mnist", case)
    yield Row(f"{case.name}: ours", mean(ours), "%", (min(ours), max(ours)) if len(ours) > 1 else None)
    if case.published is not None:
        gap = abs(mean(ours) - case.published)
        yield Row(f"{case.name}: from {case.published:g} %", gap, "points", goal=BAND, at_most=True)
