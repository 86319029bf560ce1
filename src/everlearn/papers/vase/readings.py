"""What the paper's table says of a run: best and change of objects and places, mean over probes."""

from collections.abc import Callable, Mapping
from typing import Any

from everlearn.evaluation import Interval
from everlearn.evaluation.retention import Retention, retained
from everlearn.reports.findings import Findings
from everlearn.reports.groups import Group, interval

Measure = Callable[[Findings], float]


def kept(quantity: str, measure: str) -> Measure:
    """A measure of how "object" or "position" is kept: final, best, change or after."""

    def take(run: Findings) -> float:
        found: Retention = retained(run.probings, quantity)
        value: float = getattr(found, measure)
        return value

    return take


def measured(group: Group, measure: Measure) -> Interval | None:
    """What the seeds of a group say together."""
    return interval([measure(run) for run in group.runs])


def surroundings(run: Findings) -> Mapping[str, Any]:
    """What a run answered when it was asked about its environments."""
    return run.answers["environments"]
