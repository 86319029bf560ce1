"""Metrics of runs, and the forms that claims about them take.

Series are compared seed by seed: all learners of a paper are trained on the same data under the same seed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from everlearn.evaluation import Interval
from everlearn.papers.experiment import Claim, Groups, Verdict
from everlearn.reports.comparison import Column
from everlearn.reports.formatting import share
from everlearn.reports.groups import Group, interval
from everlearn.reports.run_results import Findings


@dataclass(frozen=True)
class Metric:
    """A number computed from one run.

    Attributes:
        label: what it is, before the numbers of a verdict.
        value: computes it; NaN where it is undefined.
        form: formats its mean over seeds.
    """

    label: str
    value: Callable[[Findings], float]
    form: Callable[[Interval | None], str] = share

    def over_seeds(self, group: Group) -> Interval | None:
        """Mean and confidence interval over the seeds of a series; None where it is undefined."""
        return interval([self.value(run) for run in group.runs])

    def difference(self, a: Group, b: Group) -> Interval | None:
        """Mean and confidence interval of the differences a - b, seed by seed."""
        return interval([self.value(x) - self.value(y) for x, y in zip(a.runs, b.runs, strict=False)])

    def listed(self, groups: Groups) -> str:
        """The label and the value of each series."""
        values = ", ".join(f"{name} {self.form(self.over_seeds(group))}" for name, group in groups.items())
        return f"{self.label}: {values}"

    def column(self, heading: str, meaning: str) -> Column:
        """A column of a table."""
        return Column(heading, meaning, lambda group: self.form(self.over_seeds(group)), "well")


def above_next(text: str, metric: Metric, *series: str, by: float = 0.0, single_seed: bool = False) -> Claim:
    """Each series exceeds the next by at least `by`, with a confidence interval above zero.

    A single seed has no confidence interval; with `single_seed` its difference counts all the same.
    """

    def check(groups: Groups) -> Verdict:
        gaps = [metric.difference(a, b) for a, b in pairwise(groups.values())]
        holds = all(gap is not None and gap.mean >= by and _is_positive(gap, single_seed) for gap in gaps)
        return Verdict(holds, f"{metric.listed(groups)}; {_differences(metric, gaps)}")

    return Claim(text, series, check)


def _is_positive(gap: Interval, single_seed: bool) -> bool:
    return gap.low > 0 or (single_seed and gap.n == 1 and gap.mean > 0)


def not_below(text: str, metric: Metric, series: str, other: str, *, within: float | None = None) -> Claim:
    """A series is not below another by more than `within`; default: by more than the confidence interval."""

    def check(groups: Groups) -> Verdict:
        gap = metric.difference(groups[series], groups[other])
        holds = gap is not None and (gap.high >= 0 if within is None else gap.mean >= -within)
        return Verdict(holds, f"{metric.listed(groups)}; {_differences(metric, [gap])}")

    return Claim(text, (series, other), check)


def at_least(text: str, metric: Metric, series: str, bound: float) -> Claim:
    """The mean over seeds is at least `bound`."""
    return _bounded(text, metric, series, lambda mean: mean >= bound)


def at_most(text: str, metric: Metric, series: str, bound: float) -> Claim:
    """The mean over seeds is at most `bound`."""
    return _bounded(text, metric, series, lambda mean: mean <= bound)


def _bounded(text: str, metric: Metric, series: str, accepts: Callable[[float], bool]) -> Claim:
    def check(groups: Groups) -> Verdict:
        found = metric.over_seeds(groups[series])
        return Verdict(found is not None and accepts(found.mean), metric.listed(groups))

    return Claim(text, (series,), check)


def at_most_half(text: str, metric: Metric, series: str, other: str) -> Claim:
    """The mean is at most half of another series', which is positive under every seed."""

    def check(groups: Groups) -> Verdict:
        ours, theirs = (metric.over_seeds(groups[name]) for name in (series, other))
        is_positive = all(metric.value(run) > 0 for run in groups[other].runs)
        holds = ours is not None and theirs is not None and is_positive and ours.mean <= theirs.mean / 2
        return Verdict(holds, metric.listed(groups))

    return Claim(text, (series, other), check)


def listed(values: Mapping[str, float]) -> str:
    """Names and numbers.

    Example:
        >>> listed({"naive": 0.05, "dcl": 0.9985})
        'naive 0.050, dcl 0.999'
    """
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def _differences(metric: Metric, gaps: Iterable[Interval | None]) -> str:
    words = [metric.form(gap) for gap in gaps]
    return f"difference{'s' if len(words) > 1 else ''} {', '.join(words)}"
