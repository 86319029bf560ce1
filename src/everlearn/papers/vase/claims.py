"""Metrics of the paper (probe accuracy, position error, ...) and claims about environments."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from everlearn.evaluation.formatting import DASH, format_error
from everlearn.evaluation.probes import probe_keys, retention
from everlearn.papers.claims import Metric, protocol_results
from everlearn.papers.experiment import Groups, Verdict
from everlearn.reports.comparison_columns import changes_found, detections, max_delay
from everlearn.reports.run_results import RunResults

MAX_DELAY = 5
"""Batches within which a change of environment must be detected."""
MAX_FALSE_ALARMS = 1.0
"""Wrongly inferred new environments per 10,000 batches."""
SHARED, MASKED = "shared_position_latents", "masked_position_latents"
MIN_SHARED = 2
"""Latents needed to encode a position."""
MAX_WIDTH = 0.1
"""Largest range of mixing weights within which a sharp decision changes."""
NEAR = 0.1
"""Range of mixing weights around the change of a decision."""

BEST_ACCURACY = Metric("best probe accuracy", lambda run: run.measures()["object_best"])
FINAL_ACCURACY = Metric("final probe accuracy", lambda run: run.measures()["object_final"])
ACCURACY_LOSS = Metric("loss of probe accuracy", lambda run: -run.measures()["object_change"])
POSITION_LOSS = Metric(
    "increase of position error", lambda run: run.measures()["position_change"], format_error
)


def best_in(environment: str) -> Metric:
    """Best probe accuracy in one environment; NaN where it is not part of the stream."""

    def value(run: RunResults) -> float:
        is_there = (environment, "object") in probe_keys(run.probe_results)
        return retention(run.probe_results, environment, "object").best if is_there else math.nan

    return Metric(environment, value)


def _cross_domain(score: str) -> Callable[[RunResults], float]:
    """Mean of a score over all pairs of different environments that have it.

    Position errors count only for source environments whose positions vary.
    """

    def value(run: RunResults) -> float:
        result = run.protocol_results["cross-domain"]
        cells = [
            cell[score]
            for a, row in enumerate(result["scores"])
            for b, cell in enumerate(row)
            if a != b
            and cell[score] is not None
            and (score != "position_error" or result["position_std"][a] > 0)
        ]
        return float(np.mean(cells)) if cells else math.nan

    return value


IN_TARGET = Metric("classified as the target environment", _cross_domain("environment_accuracy"))
POSITION_ERROR = Metric("position error", _cross_domain("position_error"))
SAME_CLASS = Metric("class kept", _cross_domain("label_accuracy"))


def _before_last(run: RunResults) -> float:
    last = run.probe_results[-1]
    before = [row for row in run.probe_results if row.task < last.task]
    return before[-1].results[last.environment].get("object", math.nan) if before else math.nan


ZERO_SHOT = Metric("probe accuracy in the last environment before training on it", _before_last)


def keeps_positions(groups: Groups) -> Verdict:
    """Position errors of cross-domain reconstructions are at most half of those of a constant position."""
    (group,) = groups.values()
    constant = [max(result["position_std"]) for result in protocol_results(groups, "cross-domain")]
    errors = map(POSITION_ERROR.value, group.runs)
    holds = all(error <= worst / 2 for error, worst in zip(errors, constant, strict=True))
    return Verdict(holds, f"{POSITION_ERROR.observed(groups)}; constant position {max(constant):.3f}")


def detects_changes(groups: Groups) -> Verdict:
    """All changes of environment are detected in time, with few false alarms."""
    (group,) = groups.values()
    found = detections(group)
    false_alarms = max(each["false_new_rate"] for each in found)
    is_complete = all(each["n_correct"] == each["n_changes"] for each in found)
    in_time = all(each["max_delay"] is None or each["max_delay"] <= MAX_DELAY for each in found)
    return Verdict(
        is_complete and in_time and false_alarms <= MAX_FALSE_ALARMS,
        f"{changes_found(group)} changes detected, with a delay of at most {max_delay(group)} batches; "
        f"at most {false_alarms:.2f} false alarms per 10,000 batches",
    )


def recognizes_recurring(groups: Groups) -> Verdict:
    """Every recurring environment is recognized as known after the change was detected."""
    results = protocol_results(groups, "environments")
    recurring = [stage for result in results for stage in result["stages"] if not stage["is_new"]]
    holds = all(stage["detected"] == "known" and stage["delay"] > 0 for stage in recurring)
    delays = ("" if each["delay"] is None else f" after {each['delay']:.0f} batches" for each in recurring)
    observed = (f"{each['name']}: {each['detected']}{d}" for each, d in zip(recurring, delays, strict=True))
    return Verdict(bool(recurring) and holds, ", ".join(observed))


def shares_position_latents(groups: Groups) -> Verdict:
    """The same latents encode position in all moving environments, and are masked in the static one."""
    results = protocol_results(groups, "environments")
    holds = all(len(each[SHARED]) >= MIN_SHARED and each[MASKED] == each[SHARED] for each in results)
    observed = (f"shared {_numbers(each[SHARED])}, masked {_numbers(each[MASKED])}" for each in results)
    return Verdict(holds, "; ".join(observed))


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def sharp_decision(groups: Groups) -> Verdict:
    """The inferred environment of mixed images changes within a narrow range of mixing weights."""
    transitions = [_without_context(result)["transition"] for result in protocol_results(groups, "ambiguity")]
    observed = (f"at {f['point']:.2f} within {f['width']:.2f}" if f else "never" for f in transitions)
    return Verdict(all(f is not None and f["width"] <= MAX_WIDTH for f in transitions), ", ".join(observed))


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
    transition = _without_context(result)["transition"]
    if transition is None:
        return []
    near = np.abs(np.array(result["weights"]) - transition["point"]) <= NEAR
    curves = [np.array(values) for values in result["stds"] if values is not None]
    return [float(values[near].max() - max(values[0], values[-1])) for values in curves]
