"""What the paper says of each figure and table, as questions that records can answer.

Seeds are compared with themselves: all learners met the same tasks under the same seed.
"""

from collections.abc import Mapping
from itertools import pairwise

from everlearn.papers.exhibit import Claim, Groups, Verdict
from everlearn.papers.negative.readings import average, final
from everlearn.papers.seeds import Measure, gap, measured
from everlearn.reports.formatting import share

MEASURES: dict[str, Measure] = {"final": final, "average": average}


def falling(words: str, measure: str, *names: str, by: float = 0.0) -> Claim:
    """That each is above the next, by more than the spread over seeds explains and by at least so much."""

    def check(groups: Groups) -> Verdict:
        gaps = [gap(more, less, MEASURES[measure]) for more, less in pairwise(groups.values())]
        holds = all(each.low > 0 and each.mean >= by for each in gaps)
        return Verdict(holds, f"{_told(groups, measure)}; from one to the next {', '.join(map(share, gaps))}")

    return Claim(words, names, check)


def not_below(words: str, measure: str, better: str, other: str) -> Claim:
    """That one is not below another by more than the spread over seeds explains."""

    def check(groups: Groups) -> Verdict:
        apart = gap(groups[better], groups[other], MEASURES[measure])
        return Verdict(apart.high >= 0, f"{_told(groups, measure)}; apart {share(apart)}")

    return Claim(words, (better, other), check)


def crosses(words: str, positive: Mapping[str, str], negative: Mapping[str, str]) -> Claim:
    """That positive replay is better at the first level, and negative replay at the last.

    Args:
        words: of the claim.
        positive: lines of positive replay by how good their patterns are, the best first.
        negative: those of negative replay.
    """

    def check(groups: Groups) -> Verdict:
        gaps = {level: gap(groups[negative[level]], groups[positive[level]], final) for level in positive}
        first, *_, last = gaps.values()
        told = ", ".join(f"{level} {share(apart)}" for level, apart in gaps.items())
        return Verdict(first.mean < 0 < last.low, f"negative minus positive: {told}")

    return Claim(words, (*positive.values(), *negative.values()), check)


def _told(groups: Groups, measure: str) -> str:
    values = {name: measured(group, MEASURES[measure]) for name, group in groups.items()}
    return f"{measure} " + ", ".join(f"{name} {share(value)}" for name, value in values.items())
