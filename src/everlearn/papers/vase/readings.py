"""What the paper's table says of a run: best and change of objects and places, mean over probes."""

import math
from collections.abc import Mapping
from typing import Any

from everlearn.evaluation.probes import Retention, probes_of, retained, retention
from everlearn.papers.seeds import Measure
from everlearn.reports.run_results import Findings


def kept(quantity: str, measure: str) -> Measure:
    """A measure of how "object" or "position" is kept: final, best, change or after."""

    def take(run: Findings) -> float:
        found: Retention = retained(run.probings, quantity)
        value: float = getattr(found, measure)
        return value

    return take


def best_of(place: str) -> Measure:
    """How well objects of one environment are named at best; NaN where it is not shown."""

    def take(run: Findings) -> float:
        is_there = (place, "object") in probes_of(run.probings)
        return retention(run.probings, place, "object").best if is_there else math.nan

    return take


def surroundings(run: Findings) -> Mapping[str, Any]:
    """What a run answered when it was asked about its environments."""
    return run.answers["environments"]
