"""VASE: its metrics and claims, and its experiments at smoke scale."""

import math
from pathlib import Path
from typing import Any

import pytest

from everlearn.evaluation.probes import ProbeResults
from everlearn.papers.experiment import Check
from everlearn.papers.report import page
from everlearn.papers.vase import VASE, claims
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults
from everlearn.runs.loop import RunState

from .helpers import NO_RECORD, protocol_group, run_smoke


def test_table_has_every_row_of_the_paper() -> None:
    scale = VASE.scale("laptop")
    rows = [name for name in VASE.experiments[0].series if "entangled" not in name]
    assert rows == ["CCI-VAE", "S", "D", "A", "SA", "DA", "SD", "SDA", "VAE", "SD-[41]"]
    assert all(scale.series[name][1].seeds == (0, 1, 2) for name in VASE.experiments[0].series)
    assert scale.settings_of("SD-[41]")["learner.decoder_weight"] == 0


def probed(*rows: tuple[int, str, dict[str, dict[str, float]]]) -> RunResults:
    """A run with probe results: task, environment shown, results by environment."""
    probe_results = tuple(ProbeResults(task, shown, None, found) for task, shown, found in rows)
    run = RunResults(NO_RECORD, (), 1.0, probe_results=probe_results)
    run.protocol_results = {}
    return run


def test_probe_metrics() -> None:
    run = probed(
        (0, "a", {"a": {"object": 0.8, "position": 0.001}}),
        (1, "b", {"a": {"object": 0.7, "position": 0.003}}),
    )
    assert claims.BEST_ACCURACY.value(run) == 0.8
    assert claims.ACCURACY_LOSS.value(run) == pytest.approx(0.1)
    assert claims.POSITION_LOSS.value(run) == pytest.approx(20)
    assert claims.best_in("a").value(run) == 0.8
    assert math.isnan(claims.best_in("b").value(run))


def test_zero_shot_accuracy_is_that_before_the_last_task() -> None:
    rows = [(0, "a", 0.1), (1, "b", 0.2), (1, "b", 0.7), (2, "c", 0.95)]
    run = probed(*((task, shown, {"c": {"object": value}}) for task, shown, value in rows))
    assert claims.ZERO_SHOT.value(run) == 0.7
    assert math.isnan(claims.ZERO_SHOT.value(probed((0, "a", {}))))


def environments(**result: Any) -> Group:
    return protocol_group({"environments": result})


def position_latents(shared: list[int], masked: list[int]) -> Group:
    return environments(shared_position_latents=shared, masked_position_latents=masked)


def detection(n_correct: int = 2, max_delay: float | None = 3.0, false_new_rate: float = 0.0) -> Group:
    rates = {"max_delay": max_delay, "false_new_rate": false_new_rate}
    return environments(detection={"n_correct": n_correct, "n_changes": 2, **rates})


def stages(*found: str, delay: float = 3.0) -> Group:
    """A first environment that recurs in all later stages."""
    rows = [
        {"name": "a", "is_new": n == 0, "detected": word, "delay": None if word == "missed" else delay}
        for n, word in enumerate(found)
    ]
    return environments(stages=rows)


def used(*rows: list[int]) -> Group:
    """Latents that are used in each environment."""
    return environments(latents=[{"used": row, "active": [1] * len(row)} for row in rows])


def position_importances(*importances: list[list[float]]) -> Group:
    """A seed for each table of importances for x and y in the last environment."""
    scores = {"disentanglement": 0.8, "mig": 0.3, "sap": 0.5}
    return protocol_group(
        *({"disentanglement": {"environments": [{**scores, "importances": each}]}} for each in importances)
    )


@pytest.mark.parametrize(
    ("second", "mark"), [([[0.9, 0.0], [0.0, 0.9]], "yes"), ([[0.9, 0.0], [0.0, 0.5], [0.0, 0.4]], "no")]
)
def test_position_in_two_latents_of_every_seed(second: list[list[float]], mark: str) -> None:
    two = [[0.05, 0.9], [0.9, 0.05], [0.02, 0.02]]
    group = position_importances(two, second)
    verdict = claims.two_position_latents({"a": group, "b": position_importances(two, two)})
    assert verdict.mark == mark
    assert claims.DCI.value(group.runs[0]) == 0.8


def test_latents_of_single_environments() -> None:
    own, shared = used([1, 1, 0], [1, 0, 1]), used([1, 1, 0], [1, 1, 0])
    verdict = claims.has_specific_latents({"SDA": own, "CCI-VAE": shared})
    assert verdict == (True, "latents that one environment uses: SDA 2, CCI-VAE 0", True)
    assert not claims.has_specific_latents({"SDA": shared, "CCI-VAE": shared}).holds
    assert claims.ACTIVE.value(own.runs[0]) == 3


WEIGHTS = [0.0, 0.25, 0.5, 0.75, 1.0]


def ambiguity(first: int = 4, alone: int = 3, second: int = 1, middle: float = 0.9) -> Group:
    """Decisions for the first environment at the last of five weights, by context."""

    def curve(context: str, n: int) -> dict[str, Any]:
        decided = [0.0] * (5 - n) + [1.0] * n
        return {"context": context, "n_mixed": 40, "decided": decided}

    curves = [curve("", alone), curve("a", first), curve("b", second)]
    deviations = [[0.5, 0.6, middle, 0.6, 0.55], None]
    return protocol_group(
        {"ambiguity": {"names": ["a", "b"], "weights": WEIGHTS, "curves": curves, "stds": deviations}}
    )


def cross_domain(off: float = 0.05, there: float = 0.9, kept: float | None = 0.6) -> Group:
    """Two moving environments and a static one."""
    same = {"environment_accuracy": 1.0, "position_error": 0.0, "label_accuracy": 1.0}
    other = {"environment_accuracy": there, "position_error": off, "label_accuracy": kept}
    static = {**other, "position_error": None}
    rows = [[same, other, static], [other, same, static], [{**other, "position_error": 9.0}, other, same]]
    return protocol_group({"cross-domain": {"scores": rows, "position_std": [0.3, 0.3, 0.0]}})


def test_cross_domain_metrics_skip_same_and_static_environments() -> None:
    (run,) = cross_domain(kept=None).runs
    assert claims.POSITION_ERROR.value(run) == pytest.approx(0.05)
    assert math.isnan(claims.SAME_CLASS.value(run))


@pytest.mark.parametrize(
    ("check", "group", "holds"),
    [
        (claims.detects_changes, detection(max_delay=5.0), True),
        (claims.detects_changes, detection(n_correct=1), False),
        (claims.detects_changes, detection(max_delay=6.0), False),
        (claims.detects_changes, detection(false_new_rate=0.4), False),
        (claims.detects_changes, detection(0, None), False),
        (claims.recognizes_recurring, stages("new", "known"), True),
        (claims.recognizes_recurring, stages("new", "known", delay=0.0), False),  # change not detected
        (claims.recognizes_recurring, stages("new", "new"), False),
        (claims.recognizes_recurring, stages("new", "known", "missed"), False),
        (claims.recognizes_recurring, stages("new"), False),  # nothing recurs
        (claims.shares_position_latents, position_latents([1, 4], [1, 4]), True),
        (claims.shares_position_latents, position_latents([1, 4], [1]), False),
        (claims.shares_position_latents, position_latents([1], [1]), False),
        (claims.shares_position_latents, position_latents([1, 2, 4], [1, 2, 4]), False),
        (claims.uses_few_latents, used([1, 1, 0] * 4, [1, 0, 0] * 4), True),
        (claims.uses_few_latents, used([1, 1, 0] * 4, [0, 0, 1] * 4), False),
        (claims.context_shifts_decision, ambiguity(), True),
        (claims.context_shifts_decision, ambiguity(first=5, second=0), True),  # it never changes
        (claims.context_shifts_decision, ambiguity(second=3), False),
        (claims.context_shifts_decision, ambiguity(first=2), False),
        (claims.uncertain_between, ambiguity(), True),
        (claims.uncertain_between, ambiguity(middle=0.55), False),
    ],
)
def test_verdicts_on_results_of_protocols(check: Check, group: Group, holds: bool) -> None:
    assert check({"a": group}).holds is holds


@pytest.mark.parametrize(
    ("check", "group", "observed"),
    [
        (
            claims.detects_changes,
            detection(),
            "2 of 2 changes detected, with a delay of at most 3 batches; at most 0.00 false alarms per "
            "10,000 batches",
        ),
        (claims.recognizes_recurring, stages("new", "known"), "a: known after 3 batches"),
        (claims.uncertain_between, ambiguity(), "σ half-way minus σ in the own environment: +0.350"),
        (claims.uses_few_latents, used([1, 1, 0], [1, 0, 0]), "used latents: 2 of 3"),
    ],
)
def test_observed_numbers(check: Check, group: Group, observed: str) -> None:
    assert check({"a": group}).observed == observed


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VASE.experiments[0].series if "VAE" not in name])
def test_no_row_of_the_table_ends_without_an_active_latent(name: str) -> None:
    """A learner whose latents are all masked learns nothing more, and then forgets nothing either."""
    state = RunState(VASE.scale("smoke").spec(name, 0, {"epochs": 10, "learner.capacity_step": 0.05}))
    fewest = [
        min(int(each.active.sum()) for each in state.learner.environment_info())  # type: ignore[attr-defined]
        for event in state.events()
        if event.kind == "task-ended"
    ]
    assert len(fewest) == 3
    assert min(fewest) > 0


@pytest.mark.slow
def test_experiment_runs_at_smoke_scale(tmp_path: Path) -> None:
    text = page([run_smoke(VASE, "vase-recurring", tmp_path)], VASE.scale("smoke"), VASE.title)
    assert "| Δ stage→end |" in text
    assert "| accuracy |" not in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vase-figure-4b", "vase-figure-5"])
def test_slow_experiment_runs_at_smoke_scale(name: str, tmp_path: Path) -> None:
    assert run_smoke(VASE, name, tmp_path).groups
