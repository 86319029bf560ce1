"""Metrics of the paper (probe accuracy, position error, ...) and claims about environments."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from everlearn.evaluation.probes import probes_of, retained, retention
from everlearn.papers.claims import Metric, protocol_results
from everlearn.papers.experiment import Groups, Verdict
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


def _cross_domain(score: str) -> Callable[[Findings], float]:
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


def keeps_positions(groups: Groups) -> Verdict:
    """Position errors of cross-domain reconstructions are at most half of those of a constant position."""
    (group,) = groups.values()
    constant = [max(result["still"]) for result in protocol_results(groups, "translation")]
    errors = map(POSITION_ERROR.value, group.runs)
    holds = all(error <= worst / 2 for error, worst in zip(errors, constant, strict=True))
    return Verdict(holds, f"{POSITION_ERROR.observed(groups)}; constant position {max(constant):.3f}")


def detects_changes(groups: Groups) -> Verdict:
    """All changes of environment are detected in time, with few false alarms."""
    found = [result["detection"] for result in protocol_results(groups, "environments")]
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


def recognizes_recurring(groups: Groups) -> Verdict:
    """Every recurring environment is recognized as known after the change was detected."""
    results = protocol_results(groups, "environments")
    recurring = [stage for result in results for stage in result["stages"] if not stage["is_new"]]
    holds = all(stage["found"] == "known" and stage["delay"] > 0 for stage in recurring)
    return Verdict(bool(recurring) and holds, ", ".join(map(_stage, recurring)))


def _stage(stage: Mapping[str, Any]) -> str:
    delay = "" if stage["delay"] is None else f" after {stage['delay']:.0f} batches"
    return f"{stage['name']}: {stage['found']}{delay}"


def shares_position_latents(groups: Groups) -> Verdict:
    """The same latents encode position in all moving environments, and are masked in the static one."""
    results = protocol_results(groups, "environments")
    holds = all(len(each["shared"]) >= MIN_SHARED and each["masked"] == each["shared"] for each in results)
    observed = (f"shared {_numbers(each['shared'])}, masked {_numbers(each['masked'])}" for each in results)
    return Verdict(holds, "; ".join(observed))


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def sharp_decision(groups: Groups) -> Verdict:
    """The inferred environment of mixed images changes within a narrow range of mixing weights."""
    flips = [_without_context(result)["flip"] for result in protocol_results(groups, "ambiguity")]
    observed = (f"at {f['point']:.2f} within {f['width']:.2f}" if f else "never" for f in flips)
    return Verdict(all(f is not None and f["width"] <= MAX_WIDTH for f in flips), ", ".join(observed))


def context_shifts_decision(groups: Groups) -> Verdict:
    """Real images of an environment in the batch shift the decision towards that environment."""
    rows = list(map(_thresholds, protocol_results(groups, "ambiguity")))
    observed = (f"{a:.2f} with images of the first, {alone:.2f} without, {b:.2f}" for a, alone, b in rows)
    holds = all(a < alone < b for a, alone, b in rows)
    return Verdict(holds, f"{'; '.join(observed)} with images of the second")


def uncertain_between(groups: Groups) -> Verdict:
    """Latents of one environment only have a larger deviation near the change than at both ends."""
    results = protocol_results(groups, "ambiguity")
    rises = [rise for result in results for rise in _deviation_rises(result)]
    observed = ", ".join(f"{rise:+.3f}" for rise in rises) or DASH
    holds = bool(rises) and all(rise > 0 for rise in rises)
    return Verdict(holds, f"σ near the change minus σ at the ends: {observed}")


def _without_context(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(curve for curve in result["curves"] if not curve["context"])


def _thresholds(result: Mapping[str, Any]) -> tuple[float, float, float]:
    """Where the decision changes with images of the first, without, and with images of the second."""
    first, second = (
        float(np.mean([_threshold(curve) for curve in result["curves"] if curve["context"] == context]))
        for context in result["names"]
    )
    return first, _threshold(_without_context(result)), second


def _threshold(curve: Mapping[str, Any]) -> float:
    """The share of mixing weights at which the decision is against the first."""
    return 1 - float(np.mean(curve["decided"]))


def _deviation_rises(result: Mapping[str, Any]) -> list[float]:
    flip = _without_context(result)["flip"]
    if flip is None:
        return []
    near = np.abs(np.array(result["weights"]) - flip["point"]) <= NEAR
    curves = [np.array(values) for values in result["deviations"] if values is not None]
    return [float(values[near].max() - max(values[0], values[-1])) for values in curves]
