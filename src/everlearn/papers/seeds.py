"""What the seeds of a line say together, and how far one line is above another."""

from collections.abc import Callable

import numpy as np

from everlearn.evaluation import Interval, mean_interval
from everlearn.reports.groups import LEVEL, Group, interval
from everlearn.reports.run_results import Findings

Measure = Callable[[Findings], float]
"""A number that a run says of itself."""


def measured(group: Group, measure: Measure) -> Interval | None:
    """What the seeds of a group say together."""
    return interval([measure(run) for run in group.runs])


def gap(more: Group, less: Group, measure: Measure) -> Interval:
    """How far one is above another, seed by seed, since all met the same under the same seed."""
    ours, theirs = ([measure(run) for run in group.runs] for group in (more, less))
    n = min(len(ours), len(theirs))
    return mean_interval(np.subtract(ours[:n], theirs[:n]), LEVEL)
