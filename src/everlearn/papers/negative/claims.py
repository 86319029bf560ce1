"""What the paper says of each figure and table, as questions that records can answer.

Seeds are compared with themselves: all learners met the same tasks under the same seed.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from everlearn.evaluation import Interval, mean_interval
from everlearn.papers.exhibit import Claim, Groups, Verdict
from everlearn.papers.negative.readings import Measure, average, final, measured
from everlearn.reports.groups import LEVEL, Group
from everlearn.reports.quantities import share

MEASURES: dict[str, Measure] = {"final": final, "average": average}


def falling(words: str, measure: str, *names: str, by: float = 0.0) -> Claim:
    """That each is above the next, by more than the spread over seeds explains and by at least so much."""

    def check(groups: Groups) -> Verdict:
        gaps = [_gap(more, less, measure) for more, less in pairwise(groups.values())]
        holds = all(gap.low > 0 and gap.mean >= by for gap in gaps)
        return Verdict(holds, f"{_told(groups, measure)}; from one to the next {', '.join(map(share, gaps))}")

    return Claim(words, names, check)


def not_below(words: str, measure: str, better: str, other: str) -> Claim:
    """That one is not below another by more than the spread over seeds explains."""

    def check(groups: Groups) -> Verdict:
        gap = _gap(groups[better], groups[other], measure)
        return Verdict(gap.high >= 0, f"{_told(groups, measure)}; apart {share(gap)}")

    return Claim(words, (better, other), check)


def crosses(words: str, dial: Sequence[float], positive: Sequence[str], negative: Sequence[str]) -> Claim:
    """That positive replay is better while patterns are good, and negative replay when they are bad."""

    def check(groups: Groups) -> Verdict:
        pairs = zip(positive, negative, strict=True)
        gaps = [_gap(groups[n], groups[p], "final").mean for p, n in pairs]
        signs = [gap > 0 for gap in gaps]
        told = ", ".join(f"{gap:+.3f} at {at:g}" for at, gap in zip(dial, gaps, strict=True))
        return Verdict(not signs[0] and signs[-1], f"negative minus positive: {told}")

    return Claim(words, (*positive, *negative), check)


def _gap(more: Group, less: Group, measure: str) -> Interval:
    """How far one is above another, seed by seed."""
    take = MEASURES[measure]
    ours, theirs = ([take(run) for run in group.runs] for group in (more, less))
    n = min(len(ours), len(theirs))
    return mean_interval(np.subtract(ours[:n], theirs[:n]), LEVEL)


def _told(groups: Groups, measure: str) -> str:
    values = {name: measured(group, MEASURES[measure]) for name, group in groups.items()}
    return f"{measure} " + ", ".join(f"{name} {share(value)}" for name, value in values.items())
