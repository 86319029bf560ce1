"""Infinite dSprites: its claims, and its runs at the size of the paper."""

from typing import Any

import pytest

from everlearn.evaluation import Row
from everlearn.evaluation.protocols.multiple_choice import ChoiceScore, MultipleChoiceResult
from everlearn.papers.experiment import Check, Verdict
from everlearn.papers.sprites import SPRITES, claims
from everlearn.reports.run_results import EvaluationResult, RunResults
from everlearn.runs import run
from everlearn.runs.events import Scored

from .helpers import NO_RECORD, accuracy_group, group, protocol_group

FALLING = [1 / k for k in range(1, 21)]
CONSTANT = [0.99] * 20
SLOW = [1 - k / 40 for k in range(20)]


@pytest.mark.parametrize(
    ("check", "curves", "holds"),
    [
        (claims.collapses, [FALLING], True),
        (claims.collapses, [SLOW], False),
        (claims.collapses, [FALLING, CONSTANT], False),
        (claims.retains, [CONSTANT, FALLING], True),
        (claims.retains, [FALLING, CONSTANT], False),
        (claims.retains, [SLOW, FALLING], False),  # above, but falling
        (claims.increases, [FALLING, SLOW, CONSTANT], True),
        (claims.increases, [SLOW, FALLING, CONSTANT], False),
        (claims.decays, [SLOW], True),
        (claims.decays, [[1.0] * 5 + [0.8] * 15], False),  # constant since task 5
        (claims.loses_half, [[0.5, 0.3, 0.2]], True),
        (claims.loses_half, [[0.5, 0.3, 0.3]], False),
        (claims.above_chance, [[0.5] * 20], True),
        (claims.above_chance, [[0.01] * 20], False),
        (claims.improves, [[0.96, 0.99]], True),
        (claims.improves, [[0.99, 0.99]], False),
        (claims.increases, [CONSTANT, CONSTANT], False),
        (claims.if_learned(claims.loses_half), [[0.12, 0.01]], None),
        (claims.if_learned(claims.loses_half), [[0.5, 0.01]], True),
    ],
)
def test_verdicts_on_accuracy_curves(check: Check, curves: list[list[float]], holds: bool | None) -> None:
    assert check(dict(zip("abc", map(accuracy_group, curves), strict=False))).holds is holds


def test_runs_of_different_lengths_are_compared_after_the_shorter_one() -> None:
    found = claims.retains({"dcl": accuracy_group(CONSTANT * 5), "er": accuracy_group(SLOW)})
    assert found.observed == "after 20 tasks: dcl 0.990, er 0.525; dcl after 100 tasks: 0.990"
    assert found.holds


@pytest.mark.parametrize("n_seeds", [1, 2])
@pytest.mark.parametrize("check", [claims.collapses, claims.retains, claims.increases, claims.decays])
def test_verdicts_on_single_seeds_are_marked(check: Check, n_seeds: int) -> None:
    groups = {"a": accuracy_group(CONSTANT, CONSTANT), "b": accuracy_group(*[CONSTANT] * n_seeds)}
    assert check(groups).one_seed is (n_seeds == 1)


def test_a_task_is_learned_even_if_the_first_evaluation_is_after_several() -> None:
    """Average accuracy over ten tasks is 0.1 for a learner that knows only the latest one."""
    row = Row.from_counts(9, list(range(10)), [0] * 9 + [10], [10] * 10)
    results = RunResults(NO_RECORD, (EvaluationResult(row, None, {}),), 1.0)
    results.ended = [{"n_images": 1}] * 10
    check = claims.if_learned(claims.retains)
    assert check({"dcl": accuracy_group(CONSTANT), "a-gem": group([results])}).holds


def test_increases_must_hold_under_every_seed() -> None:
    groups = {"small": accuracy_group([0.5], [0.6]), "large": accuracy_group([0.4], [0.9])}
    assert not claims.increases(groups).holds


def test_metrics() -> None:
    (run,) = accuracy_group([0.9, 0.4]).runs
    assert claims.FIRST_ACCURACY.value(run) == 0.9
    assert claims.FORGETTING.value(run) == pytest.approx(0.5)


@pytest.mark.parametrize(("accuracy", "holds"), [(0.99, True), (0.90, False)])
def test_one_shot_accuracy_is_compared_with_the_paper(accuracy: float, holds: bool) -> None:
    group = protocol_group({"one-shot": {"shots": [{"n_new": 10, "standard": accuracy}]}})
    assert claims.one_shot(10, "standard", 0.98)({"a": group}).holds is holds
    assert not claims.one_shot(100, "standard", 0.98)({"a": group}).holds


@pytest.mark.parametrize(("area", "rejected", "holds"), [(0.95, 0.9, True), (0.85, 0.4, False)])
def test_open_set_claims(area: float, rejected: float, holds: bool) -> None:
    areas = {name: {"area": area} for name in ("acceptance", "precision_recall", "roc")}
    group = protocol_group(
        {"open-set": {**areas, "n_new": 100, "n_known": 50, "rejected": rejected, "accepted": 0.94}}
    )
    assert claims.open_set(0.92)({"a": group}).holds is holds
    accepts = claims.few_false_accepts({"a": group})
    assert accepts.holds is holds
    assert "3 of 50 known ones refused" in accepts.observed


def test_multiple_choice_results_are_pooled_over_seeds() -> None:
    def scores(n_correct: int) -> tuple[ChoiceScore, ...]:
        return ChoiceScore.from_counts(2, 100, 100), ChoiceScore.from_counts(10, 100, n_correct)

    by_name = {"dcl": scores(99), "pixel matching": scores(12)}
    results = {"multiple-choice": MultipleChoiceResult(stream="s", trials=100, scores=by_name).to_json()}
    found = claims.matches_better_than_pixels({"a": protocol_group(results, results)})
    assert found == Verdict(True, "10 choices: dcl 0.990, pixel matching 0.120; chance 0.100")


def test_paper_scale_has_the_settings_of_the_paper() -> None:
    spec = SPRITES.scale("paper").spec("er 20k", seed=0)
    stream = spec.stream.to_mapping()
    assert (spec.n_tasks, spec.epochs, spec.batch_size) == (500, 5, 256)
    assert (stream["classes_per_task"], stream["factor_values"]) == (10, 5)
    assert spec.learner.settings["backbone"] == "resnet18"
    assert spec.learner.settings["memory_size"] == 20_000


ONE_PER_LEARNER = {
    run.learner or series.learner: name for name, (series, run) in SPRITES.scale("paper").series.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_PER_LEARNER.values())
def test_paper_scale_runs(name: str) -> None:
    """Images, networks, buffers and learners are the paper's; only one task of two classes of 16 images."""
    scale = SPRITES.scale("paper").first_tasks(1, "cpu")
    few: dict[str, Any] = {
        "stream.factor_values": 2,
        "stream.classes_per_task": 2,
        "evaluation.n_images": 10,
        "epochs": 1,
        "batch_size": 32,
    }
    if "learner.weights" in scale.settings_of(name):
        few["learner.weights"] = ""  # only available from a hub
    spec = scale.spec(name, 0, few)
    (score,) = (event for event in run(spec) if isinstance(event, Scored))
    assert sum(score.n_images) == len(spec.stream.build().task(0).test)
