"""What the paper says of imagination, as questions to records: translation, doubt, exploration."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from everlearn.papers.exhibit import Claim, Groups, Verdict
from everlearn.papers.seeds import Measure, gap, measured
from everlearn.reports.formatting import DASH, share
from everlearn.reports.run_results import Findings

HALF = 0.5
"""What things may be off their place, of what they would be off if they stood still."""
SHARP = 0.1
"""Weights within which a decision must change to be called sharp."""
NEAR = 0.1
"""Weights around a flip in which doubt is looked for."""

CLEAR = {"there": 0.015, "off": 0.005, "kept": 0.015}
"""Differences of scores that 500 images for each pair of environments can tell: two standard errors."""
MORE = 0.045
"""Difference of named objects that 1,000 images can tell: two standard errors."""

WORDS = {"there": "look at home", "off": "off their place", "kept": "keep their name"}


def translated(score: str) -> Measure:
    """The mean of one score over all pairs of different environments that have it.

    Of places only those count that were not the same for all images to begin with.
    """

    def take(run: Findings) -> float:
        answer = run.answers["translation"]
        cells = [
            cell[score]
            for a, row in enumerate(answer["outcomes"])
            for b, cell in enumerate(row)
            if a != b and cell[score] is not None and (score != "off" or answer["still"][a] > 0)
        ]
        return float(np.mean(cells)) if cells else math.nan

    return take


def foreseen(run: Findings) -> float:
    """How well objects of the last environment were named just before it came."""
    last = run.probings[-1]
    before = [row for row in run.probings if row.task < last.task]
    return before[-1].found[last.shown].get("object", math.nan) if before else math.nan


def translates_better(words: str, score: str, better: str, worse: str) -> Claim:
    """That one score of translated images is better for one than for another, by more than chance."""
    measure, sign = translated(score), -1 if score == "off" else 1

    def check(groups: Groups) -> Verdict:
        ours, theirs = (measured(groups[name], measure) for name in (better, worse))
        told = f"{WORDS[score]}: {better} {share(ours)}, {worse} {share(theirs)}"
        apart = math.nan if ours is None or theirs is None else sign * (ours.mean - theirs.mean)
        return Verdict(apart > CLEAR[score], told)

    return Claim(words, (better, worse), check)


def places_follow(words: str, name: str) -> Claim:
    """That moving things stay where they are when drawn as another moving set, under every seed."""
    off = translated("off")

    def check(groups: Groups) -> Verdict:
        runs = groups[name].runs
        still = [max(run.answers["translation"]["still"]) for run in runs]
        holds = all(off(run) <= HALF * most for run, most in zip(runs, still, strict=True))
        return Verdict(
            holds, f"off {share(measured(groups[name], off))}; {max(still):.3f} if they stood still"
        )

    return Claim(words, (name,), check)


def flips_sharply(words: str, name: str) -> Claim:
    """That a batch of mixed images is taken for the one or the other, and hardly ever in between."""

    def check(groups: Groups) -> Verdict:
        flips = [_alone(run)["flip"] for run in groups[name].runs]
        told = ", ".join(f"at {f['point']:.2f} within {f['width']:.2f}" if f else "never" for f in flips)
        return Verdict(all(f is not None and f["width"] <= SHARP for f in flips), told)

    return Claim(words, (name,), check)


def company_counts(words: str, name: str) -> Claim:
    """That company of the one moves the decision towards it, and company of the other away, on average."""

    def check(groups: Groups) -> Verdict:
        rows = [_points(run) for run in groups[name].runs]
        told = "; ".join(
            f"{one:.2f} beside the one, {alone:.2f} alone, {two:.2f}" for one, alone, two in rows
        )
        return Verdict(all(one < alone < two for one, alone, two in rows), f"{told} beside the other")

    return Claim(words, (name,), check)


def doubts_between(words: str, name: str) -> Claim:
    """That latents which one environment alone uses are less sure near the flip than at its two ends."""

    def check(groups: Groups) -> Verdict:
        rises = [rise for run in groups[name].runs for rise in _rises(run)]
        told = ", ".join(f"{rise:+.3f}" for rise in rises) or DASH
        return Verdict(
            bool(rises) and all(rise > 0 for rise in rises), f"σ near the flip less both ends: {told}"
        )

    return Claim(words, (name,), check)


def foresees(words: str, better: str, worse: str) -> Claim:
    """That one names more objects of the last environment before it comes than another, not by chance."""

    def check(groups: Groups) -> Verdict:
        told = ", ".join(f"{name} {share(measured(groups[name], foreseen))}" for name in (better, worse))
        apart = gap(groups[better], groups[worse], foreseen)
        holds = apart.mean > MORE and not apart.low <= 0
        return Verdict(holds, f"named before they come: {told}; apart {share(apart)}")

    return Claim(words, (better, worse), check)


def _alone(run: Findings) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(c for c in run.answers["ambiguity"]["curves"] if not c["context"])
    return found


def _points(run: Findings) -> tuple[float, float, float]:
    """Where decisions flip beside the one, alone, and beside the other; at an end if they never do."""
    answer = run.answers["ambiguity"]
    first, second = (
        float(np.mean([_point(curve) for curve in answer["curves"] if curve["context"] == context]))
        for context in answer["names"]
    )
    return first, _point(_alone(run)), second


def _point(curve: Mapping[str, Any]) -> float:
    """The share of weights at which a decision is against the one: where it flips, however it does."""
    return 1 - float(np.mean(curve["decided"]))


def _rises(run: Findings) -> list[float]:
    answer, flip = run.answers["ambiguity"], _alone(run)["flip"]
    if flip is None:
        return []
    near = np.abs(np.array(answer["weights"]) - flip["point"]) <= NEAR
    told = [np.array(values) for values in answer["deviations"] if values is not None]
    return [float(values[near].max() - max(values[0], values[-1])) for values in told]
