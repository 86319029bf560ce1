"""Metrics of runs, and the checks that claims of several papers share.

Series are compared seed by seed: all learners of a paper are trained on the same data under the same seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from everlearn.evaluation import Interval
from everlearn.evaluation.formatting import DASH, Format, format_score
from everlearn.evaluation.intervals import interval_over
from everlearn.papers.experiment import Check, Groups, Verdict
from everlearn.reports.comparison_columns import Column
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults


@dataclass(frozen=True)
class RunMetric:
    """A number computed from one run."""

    label: str  # precedes the numbers of a verdict
    value: Callable[[RunResults], float]  # NaN where it is undefined
    form: Format = format_score  # of its mean over seeds

    def over_seeds(self, group: Group) -> Interval | None:
        """Mean and confidence interval over the seeds of a series; None where it is undefined."""
        return interval_over([self.value(run) for run in group.runs])

    def difference(self, a: Group, b: Group) -> Interval | None:
        """Mean and confidence interval of the differences a - b, in the seeds that both have."""
        return interval_over([self.value(x) - self.value(y) for x, y in a.paired(b)])

    def observed(self, groups: Groups, gaps: Sequence[Interval | None] = ()) -> str:
        """The value of each series, and the differences between them."""
        values = ", ".join(f"{name} {self.form(self.over_seeds(group))}" for name, group in groups.items())
        differences = f"; paired difference {', '.join(map(_paired, gaps))}" if gaps else ""
        return f"{self.label}: {values}{differences}"

    def column(self, heading: str, meaning: str) -> Column:
        """A column of a table."""
        return Column(heading, meaning, lambda group: self.form(self.over_seeds(group)), "results")


def _paired(gap: Interval | None) -> str:
    """A difference with its 95 % interval, which decides a verdict."""
    return DASH if gap is None else str(gap)


def above_next(metric: RunMetric, *, by: float = 0.0) -> Check:
    """Each series exceeds the next by at least `by`, with a confidence interval above zero."""

    def check(groups: Groups) -> Verdict:
        gaps = [metric.difference(a, b) for a, b in pairwise(groups.values())]
        holds = all(gap is not None and gap.mean >= by and _is_above(gap) for gap in gaps)
        return Verdict(holds, metric.observed(groups, gaps), _is_one_seed(gaps))

    return check


def as_high_as(metric: RunMetric, *, within: float) -> Check:
    """The first series is below the second by less than `within`, by the confidence interval."""

    def check(groups: Groups) -> Verdict:
        gap = metric.difference(*groups.values())
        holds = gap is not None and _is_above(gap, -within)
        return Verdict(holds, metric.observed(groups, [gap]), _is_one_seed([gap]))

    return check


def _is_above(gap: Interval, bound: float = 0.0) -> bool:
    """Whether the confidence interval is above a bound; of a single seed, whether the difference is."""
    return (gap.mean if gap.n == 1 else gap.low) > bound


def _is_one_seed(gaps: Sequence[Interval | None]) -> bool:
    return any(gap is not None and gap.n == 1 for gap in gaps)


def at_least(metric: RunMetric, bound: float) -> Check:
    """The mean over seeds is at least `bound`."""
    return _bounded(metric, lambda mean: mean >= bound)


def at_most(metric: RunMetric, bound: float) -> Check:
    """The mean over seeds is at most `bound`."""
    return _bounded(metric, lambda mean: mean <= bound)


def _bounded(metric: RunMetric, accepts: Callable[[float], bool]) -> Check:
    def check(groups: Groups) -> Verdict:
        found = [metric.over_seeds(group) for group in groups.values()]
        holds = all(each and accepts(each.mean) for each in found)
        return Verdict(holds, metric.observed(groups), _is_one_seed(found))

    return check


def at_most_half(metric: RunMetric) -> Check:
    """The first series is at most half of the second, by the confidence interval of the differences.

    The interval of the second must be above zero as well. If its mean is not, the baseline loses nothing in
    our runs, which are therefore not comparable with those of the paper.
    """

    def check(groups: Groups) -> Verdict:
        ours, theirs = groups.values()
        gap = interval_over([metric.value(b) / 2 - metric.value(a) for a, b in ours.paired(theirs)])
        lost = metric.over_seeds(theirs)
        observed = f"{metric.observed(groups)}; half of the second minus the first {_paired(gap)}"
        if lost is not None and lost.mean <= 0:
            return Verdict(None, f"{observed}; the baseline loses nothing")
        holds = gap is not None and lost is not None and _is_above(gap) and _is_above(lost)
        return Verdict(holds, observed, _is_one_seed([gap]))

    return check


def protocol_results(groups: Groups, protocol: str) -> list[Mapping[str, Any]]:
    """The results of a protocol for all runs."""
    return [run.protocol_results[protocol] for group in groups.values() for run in group.runs]


def listed(values: Mapping[str, float]) -> str:
    """Names and numbers, such as "naive 0.050, dcl 0.999"."""
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())
