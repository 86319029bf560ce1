"""Metrics of the paper (probe accuracy, position error, ...) and claims about environments."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.evaluation.formatting import DASH, format_error
from everlearn.evaluation.probes import probe_keys, retention
from everlearn.papers.claims import RunMetric, protocol_results
from everlearn.papers.experiment import Groups, Verdict
from everlearn.reports.comparison_columns import changes_found, detections, max_delay
from everlearn.reports.run_results import RunResults

MAX_DELAY = 5
"""Batches within which a change of environment must be detected."""
SHARED, MASKED = "shared_position_latents", "masked_position_latents"
N_POSITION = 2
"""Latents that encode a position, if it is disentangled."""
MIN_IMPORTANCE = 0.1
"""Importance for x or y (DCI) from which on a latent encodes position."""
PAPER_LATENTS = 8
"""Latents that the paper's model uses, of 24."""

BEST_ACCURACY = RunMetric("best probe accuracy", lambda run: run.measures()["object_best"])
ACCURACY_LOSS = RunMetric("loss of probe accuracy", lambda run: -run.measures()["object_change"])
POSITION_LOSS = RunMetric(
    "increase of position error in 1e-4", lambda run: 1e4 * run.measures()["position_change"], format_error
)


def _disentanglement(score: str) -> Callable[[RunResults], float]:
    """Mean of a disentanglement score over the environments in which objects move."""

    def value(run: RunResults) -> float:
        result = run.protocol_results.get("disentanglement")
        return float(np.mean([each[score] for each in result["environments"]])) if result else math.nan

    return value


DCI, MIG, SAP = (RunMetric(name, _disentanglement(name)) for name in ("disentanglement", "mig", "sap"))


def _fewest_active(run: RunResults) -> float:
    """Active latents at the end, in the environment with the fewest."""
    result = run.protocol_results.get("environments")
    return min(sum(each["active"]) for each in result["latents"]) if result else math.nan


ACTIVE = RunMetric("active latents", _fewest_active, format_error)


def best_in(environment: str) -> RunMetric:
    """Best probe accuracy in one environment; NaN where it is not part of the stream."""

    def value(run: RunResults) -> float:
        is_there = (environment, "object") in probe_keys(run.probe_results)
        return retention(run.probe_results, environment, "object").best if is_there else math.nan

    return RunMetric(environment, value)


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


POSITION_ERROR = RunMetric("position error", _cross_domain("position_error"))
SAME_CLASS = RunMetric("class kept", _cross_domain("label_accuracy"))


def _before_last(run: RunResults) -> float:
    last = run.probe_results[-1]
    before = [row for row in run.probe_results if row.task < last.task]
    return before[-1].results[last.environment].get("object", math.nan) if before else math.nan


ZERO_SHOT = RunMetric("probe accuracy in the last environment before training on it", _before_last)


def _in_each_seed(holds: Iterable[bool], observed: str) -> Verdict:
    """The verdict on what must be seen under every seed."""
    found = list(holds)
    return Verdict(bool(found) and all(found), observed, one_seed=len(found) == 1)


def detects_changes(groups: Groups) -> Verdict:
    """All changes of environment are detected in time, without false alarms."""
    (group,) = groups.values()
    found = detections(group)
    holds = (
        each["n_correct"] == each["n_changes"]
        and (each["max_delay"] is None or each["max_delay"] <= MAX_DELAY)
        and each["false_new_rate"] == 0
        for each in found
    )
    false_alarms = max(each["false_new_rate"] for each in found)
    return _in_each_seed(
        holds,
        f"{changes_found(group)} changes detected, with a delay of at most {max_delay(group)} batches; "
        f"at most {false_alarms:.2f} false alarms per 10,000 batches",
    )


def recognizes_recurring(groups: Groups) -> Verdict:
    """Every recurring environment is recognized as known after the change was detected."""
    results = protocol_results(groups, "environments")
    recurring = [[stage for stage in result["stages"] if not stage["is_new"]] for result in results]
    holds = (
        bool(stages) and all(stage["detected"] == "known" and stage["delay"] > 0 for stage in stages)
        for stages in recurring
    )
    observed = [
        f"{each['name']}: {each['detected']}{_delay(each)}" for stages in recurring for each in stages
    ]
    return _in_each_seed(holds, ", ".join(observed))


def _delay(stage: Mapping[str, Any]) -> str:
    return "" if stage["delay"] is None else f" after {stage['delay']:.0f} batches"


def shares_position_latents(groups: Groups) -> Verdict:
    """The same two latents encode position in all moving environments, and are masked in the static one."""
    results = protocol_results(groups, "environments")
    holds = (len(each[SHARED]) == N_POSITION and each[MASKED] == each[SHARED] for each in results)
    observed = (f"shared {_numbers(each[SHARED])}, masked {_numbers(each[MASKED])}" for each in results)
    return _in_each_seed(holds, "; ".join(observed))


def two_position_latents(groups: Groups) -> Verdict:
    """In the last environment, each run encodes position by two latents, by their importances."""
    counts = {name: [_n_position(run) for run in group.runs] for name, group in groups.items()}
    observed = (f"{name} {_numbers(found)}" for name, found in counts.items())
    holds = all(n == N_POSITION for found in counts.values() for n in found)
    one_seed = min(map(len, counts.values())) == 1
    return Verdict(holds, f"position latents: {', '.join(observed)}", one_seed)


def _n_position(run: RunResults) -> int:
    last = run.protocol_results["disentanglement"]["environments"][-1]
    return int((np.array(last["importances"]).max(axis=1) >= MIN_IMPORTANCE).sum())


def uses_few_latents(groups: Groups) -> Verdict:
    """At most as many latents are used in all environments together as by the paper's model."""
    used = [_used(result) for result in protocol_results(groups, "environments")]
    counts = [int(each.any(axis=0).sum()) for each in used]
    observed = f"used latents: {_numbers(counts)} of {used[0].shape[1]}"
    return _in_each_seed((n <= PAPER_LATENTS for n in counts), observed)


def has_specific_latents(groups: Groups) -> Verdict:
    """The first series has latents that some environments use alone; the second uses all in all of them."""
    specific = {
        name: [int((_used(each).sum(axis=0) == 1).sum()) for each in group.results_of("environments")]
        for name, group in groups.items()
    }
    ours, theirs = specific.values()
    observed = (f"{name} {_numbers(found)}" for name, found in specific.items())
    holds = min(ours) > 0 and max(theirs) == 0
    return Verdict(
        holds, f"latents that one environment uses: {', '.join(observed)}", min(len(ours), len(theirs)) == 1
    )


def _used(result: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    return np.array([each["used"] for each in result["latents"]], bool)


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def context_shifts_decision(groups: Groups) -> Verdict:
    """Real images of an environment in the batch shift the decision towards that environment."""
    rows = list(map(_thresholds, protocol_results(groups, "ambiguity")))
    observed = (f"{a:.2f} with images of the first, {alone:.2f} without, {b:.2f}" for a, alone, b in rows)
    holds = (a < alone < b for a, alone, b in rows)
    return _in_each_seed(holds, f"{'; '.join(observed)} with images of the second")


def uncertain_between(groups: Groups) -> Verdict:
    """Latents of one environment have a larger deviation for images half-way than for images of their own."""
    rises = list(map(_deviation_rises, protocol_results(groups, "ambiguity")))
    observed = "; ".join(", ".join(f"{rise:+.3f}" for rise in each) or DASH for each in rises)
    holds = (bool(each) and min(each) > 0 for each in rises)
    return _in_each_seed(holds, f"σ half-way minus σ in the own environment: {observed}")


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
    """For the latents of each environment; its own images have the weight 1 for the first, else 0."""
    half = int(np.argmin(np.abs(np.array(result["weights"]) - 0.5)))
    own_ends = zip(result["stds"], (-1, 0), strict=True)
    return [float(values[half] - values[end]) for values, end in own_ends if values is not None]
