"""Metrics of the paper (probe accuracy, position error, ...) and claims about environments."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from everlearn.evaluation.probes import probes_of, retained, retention
from everlearn.papers.claims import Metric
from everlearn.papers.experiment import Claim, Groups, Verdict
from everlearn.reports.formatting import DASH, digits
from everlearn.reports.run_results import Findings

MAX_DELAY = 5
"""Batches within which a change of environment must be detected."""
MAX_FALSE_ALARMS = 1.0
"""Wrongly inferred new environments per 10,000 batches."""
MIN_SHARED = 2
"""Latents needed to encode a position."""
MAX_WIDTH = 0.1
"""Largest range of mixing weights within which a sharp decision changes."""
NEAR = 0.1
"""Range of mixing weights around the change of a decision."""

BEST_ACCURACY = Metric("best probe accuracy", lambda run: retained(run.probings, "object").best)
FINAL_ACCURACY = Metric("final probe accuracy", lambda run: retained(run.probings, "object").final)
ACCURACY_LOSS = Metric("loss of probe accuracy", lambda run: -retained(run.probings, "object").change)
POSITION_LOSS = Metric(
    "increase of position error", lambda run: retained(run.probings, "position").change, digits
)


def best_in(environment: str) -> Metric:
    """Best probe accuracy in one environment; NaN where it is not part of the stream."""

    def value(run: Findings) -> float:
        is_there = (environment, "object") in probes_of(run.probings)
        return retention(run.probings, environment, "object").best if is_there else math.nan

    return Metric(environment, value)


def _cross_domain(score: str) -> Any:
    """Mean of a score over all pairs of different environments that have it.

    Position errors count only for source environments whose positions vary.
    """

    def value(run: Findings) -> float:
        result = run.answers["translation"]
        cells = [
            cell[score]
            for a, row in enumerate(result["outcomes"])
            for b, cell in enumerate(row)
            if a != b and cell[score] is not None and (score != "off" or result["still"][a] > 0)
        ]
        return float(np.mean(cells)) if cells else math.nan

    return value


IN_TARGET = Metric("classified as the target environment", _cross_domain("there"))
POSITION_ERROR = Metric("position error", _cross_domain("off"))
SAME_CLASS = Metric("class kept", _cross_domain("kept"))


def _before_last(run: Findings) -> float:
    last = run.probings[-1]
    before = [row for row in run.probings if row.task < last.task]
    return before[-1].found[last.shown].get("object", math.nan) if before else math.nan


ZERO_SHOT = Metric("probe accuracy in the last environment before training on it", _before_last)


def keeps_positions(text: str, series: str) -> Claim:
    """Position errors of cross-domain reconstructions are at most half of those of a constant position."""

    def check(groups: Groups) -> Verdict:
        runs = groups[series].runs
        constant = [max(run.answers["translation"]["still"]) for run in runs]
        holds = all(POSITION_ERROR.value(run) <= worst / 2 for run, worst in zip(runs, constant, strict=True))
        return Verdict(holds, f"{POSITION_ERROR.listed(groups)}; constant position {max(constant):.3f}")

    return Claim(text, (series,), check)


def detects_changes(text: str, series: str) -> Claim:
    """All changes of environment are detected in time, with few false alarms."""

    def check(groups: Groups) -> Verdict:
        found = [run.answers["environments"]["detection"] for run in groups[series].runs]
        n_right, n_changes = (sum(each[key] for each in found) for key in ("n_right", "n_changes"))
        delays = [each["latest"] for each in found if each["latest"] is not None]
        false_alarms = max(each["false_new"] for each in found)
        in_time = max(delays, default=0) <= MAX_DELAY
        delay = f"{max(delays):.0f}" if delays else DASH
        return Verdict(
            n_right == n_changes and in_time and false_alarms <= MAX_FALSE_ALARMS,
            f"{n_right} of {n_changes} changes detected, with a delay of at most {delay} batches; at most "
            f"{false_alarms:.2f} false alarms per 10,000 batches",
        )

    return Claim(text, (series,), check)


def recognizes_recurring(text: str, series: str) -> Claim:
    """Every recurring environment is recognized as known after the change was detected."""

    def check(groups: Groups) -> Verdict:
        recurring = [
            stage
            for run in groups[series].runs
            for stage in run.answers["environments"]["stages"]
            if not stage["is_new"]
        ]
        holds = all(stage["found"] == "known" and stage["delay"] > 0 for stage in recurring)
        return Verdict(bool(recurring) and holds, ", ".join(map(_stage, recurring)))

    return Claim(text, (series,), check)


def _stage(stage: Mapping[str, Any]) -> str:
    delay = "" if stage["delay"] is None else f" after {stage['delay']:.0f} batches"
    return f"{stage['name']}: {stage['found']}{delay}"


def shares_position_latents(text: str, series: str) -> Claim:
    """The same latents encode position in all moving environments, and are masked in the static one."""

    def check(groups: Groups) -> Verdict:
        results = [run.answers["environments"] for run in groups[series].runs]
        holds = all(
            len(each["shared"]) >= MIN_SHARED and each["masked"] == each["shared"] for each in results
        )
        observed = (
            f"shared {_numbers(each['shared'])}, masked {_numbers(each['masked'])}" for each in results
        )
        return Verdict(holds, "; ".join(observed))

    return Claim(text, (series,), check)


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def sharp_decision(text: str, series: str) -> Claim:
    """The inferred environment of mixed images changes within a narrow range of mixing weights."""

    def check(groups: Groups) -> Verdict:
        flips = [_without_context(run)["flip"] for run in groups[series].runs]
        observed = (f"at {f['point']:.2f} within {f['width']:.2f}" if f else "never" for f in flips)
        return Verdict(all(f is not None and f["width"] <= MAX_WIDTH for f in flips), ", ".join(observed))

    return Claim(text, (series,), check)


def context_shifts_decision(text: str, series: str) -> Claim:
    """Real images of an environment in the batch shift the decision towards that environment."""

    def check(groups: Groups) -> Verdict:
        rows = [_thresholds(run) for run in groups[series].runs]
        observed = (f"{a:.2f} with images of the first, {alone:.2f} without, {b:.2f}" for a, alone, b in rows)
        holds = all(a < alone < b for a, alone, b in rows)
        return Verdict(holds, f"{'; '.join(observed)} with images of the second")

    return Claim(text, (series,), check)


def uncertain_between(text: str, series: str) -> Claim:
    """Latents of one environment only have a larger deviation near the change than at both ends."""

    def check(groups: Groups) -> Verdict:
        rises = [rise for run in groups[series].runs for rise in _deviation_rises(run)]
        observed = ", ".join(f"{rise:+.3f}" for rise in rises) or DASH
        holds = bool(rises) and all(rise > 0 for rise in rises)
        return Verdict(holds, f"σ near the change minus σ at the ends: {observed}")

    return Claim(text, (series,), check)


def _without_context(run: Findings) -> Mapping[str, Any]:
    curves = run.answers["ambiguity"]["curves"]
    return next(curve for curve in curves if not curve["context"])


def _thresholds(run: Findings) -> tuple[float, float, float]:
    """Where the decision changes with images of the first, without, and with images of the second."""
    result = run.answers["ambiguity"]
    first, second = (
        float(np.mean([_threshold(curve) for curve in result["curves"] if curve["context"] == context]))
        for context in result["names"]
    )
    return first, _threshold(_without_context(run)), second


def _threshold(curve: Mapping[str, Any]) -> float:
    """The share of mixing weights at which the decision is against the first."""
    return 1 - float(np.mean(curve["decided"]))


def _deviation_rises(run: Findings) -> list[float]:
    result, flip = run.answers["ambiguity"], _without_context(run)["flip"]
    if flip is None:
        return []
    near = np.abs(np.array(result["weights"]) - flip["point"]) <= NEAR
    curves = [np.array(values) for values in result["deviations"] if values is not None]
    return [float(values[near].max() - max(values[0], values[-1])) for values in curves]
