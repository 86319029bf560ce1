"""Claims: each holds on curves that show it, and fails on curves that do not."""

from collections.abc import Sequence

import pytest

from everlearn.papers import Claim, Line, Scale, Verdict
from everlearn.papers.sprites import claims

from .found import group

FALLING = [1 / k for k in range(1, 21)]
STEADY = [0.99] * 20
SLOW = [1 - k / 40 for k in range(20)]


def judged(claim: Claim, **curves: Sequence[float]) -> Verdict:
    scale = Scale("test", "", [Line(name, name, "naive") for name in curves])
    verdict = claim.verdict({name: group(curve) for name, curve in curves.items()}, scale)
    assert verdict is not None
    return verdict


def test_what_keeps_only_the_newest_task_has_collapsed() -> None:
    assert judged(claims.collapse("lwf"), lwf=FALLING).holds
    assert not judged(claims.collapse("lwf"), lwf=SLOW).holds


def test_one_of_several_that_holds_is_no_collapse() -> None:
    assert not judged(claims.collapse("lwf", "si"), lwf=FALLING, si=STEADY).holds


def test_staying_is_being_above_and_not_falling() -> None:
    claim = claims.stays("dcl", "er")
    assert judged(claim, dcl=STEADY, er=FALLING).holds
    assert not judged(claim, dcl=FALLING, er=STEADY).holds
    assert not judged(claim, dcl=SLOW, er=FALLING).holds, "above, but falling"


def test_those_who_met_fewer_tasks_are_compared_where_they_end() -> None:
    verdict = judged(claims.stays("dcl", "er"), dcl=STEADY * 5, er=SLOW)
    assert verdict.holds
    assert "after 20 tasks dcl 0.990, er 0.525; dcl after 100 0.990" in verdict.saw


def test_rising_wants_every_step_up() -> None:
    claim = claims.rising("larger is better", "small", "middle", "large")
    assert judged(claim, small=FALLING, middle=SLOW, large=STEADY).holds
    assert not judged(claim, small=SLOW, middle=FALLING, large=STEADY).holds


def test_rising_must_hold_under_every_seed() -> None:
    claim = claims.rising("larger is better", "small", "large")
    scale = Scale("test", "", [Line(name, name, "naive") for name in ("small", "large")])
    small, large = group([0.5], [0.6]), group([0.4], [0.9])
    verdict = claim.verdict({"small": small, "large": large}, scale)
    assert verdict is not None
    assert not verdict.holds, "above on average, but not with the first seed"


def test_decay_is_judged_after_the_beginnings() -> None:
    claim = claims.decays("it falls", "er")
    assert judged(claim, er=SLOW).holds
    assert not judged(claim, er=[1.0] * 5 + [0.8] * 15).holds, "it fell early and has held since"


def test_fading_is_losing_more_than_half() -> None:
    assert judged(claims.fades("it falls", "l2p"), l2p=[0.5, 0.3, 0.2]).holds
    assert not judged(claims.fades("it falls", "l2p"), l2p=[0.5, 0.3, 0.3]).holds


def test_a_first_task_may_be_learned_badly() -> None:
    assert judged(claims.starts_low("l2p", 0.6), l2p=[0.5, 0.4]).holds
    assert not judged(claims.starts_low("l2p", 0.6), l2p=[0.7, 0.4]).holds


def test_chance_is_counted_over_all_classes_met() -> None:
    claim = claims.above_chance("contrastive")
    verdict = judged(claim, contrastive=[0.5] * 20)
    assert verdict.holds
    assert "among 200 classes; a guess 0.0050" in verdict.saw
    assert not judged(claim, contrastive=[0.01] * 20).holds


def test_forgetting_less_must_be_more_than_the_spread_over_seeds() -> None:
    scale = Scale("test", "", [Line("naive", "naive", "naive"), Line("er", "er", "er")])
    claim = claims.forgets_less("less", "naive", "er")
    clear = {"naive": group([1, 0.50], [1, 0.51]), "er": group([1, 0.90], [1, 0.91])}
    vague = {"naive": group([1, 0.50], [1, 0.90]), "er": group([1, 0.60], [1, 0.80])}
    for groups, holds in ((clear, True), (vague, False)):
        verdict = claim.verdict(groups, scale)
        assert verdict is not None
        assert verdict.holds is holds


@pytest.mark.parametrize(("accuracy", "holds"), [(0.99, True), (0.90, False)])
def test_one_shot_is_set_beside_the_paper(accuracy: float, holds: bool) -> None:
    shots = {"shots": [{"n_new": 10, "standard": accuracy}, {"n_new": 100, "standard": 0.0}]}
    groups = {"dcl": group([1.0], answers={"oneshot": shots})}
    verdict = claims.one_shot("dcl", 10, "standard", 0.95).check(groups)
    assert verdict.holds is holds


def test_choices_are_added_up_over_seeds() -> None:
    def told(right: int) -> list[dict[str, float]]:
        return [
            {"n_choices": 2, "n_trials": 100, "n_right": 100},
            {"n_choices": 10, "n_trials": 100, "n_right": right},
        ]

    answers = {"choice": {"answers": {"dcl": told(99), "pixel matching": told(12)}}}
    verdict = claims.finds_again("asked", "dcl", "pixel matching").check(
        {"asked": group([1.0], [1.0], answers=answers)}
    )
    assert verdict == (True, "of 10 choices: dcl 0.990, pixel matching 0.120; a guess 0.100")


def test_a_claim_waits_for_all_it_is_about() -> None:
    scale = Scale("test", "", [Line("dcl", "dcl", "dcl"), Line("er", "er", "er")])
    assert claims.stays("dcl", "er").verdict({"dcl": group(STEADY)}, scale) is None


def test_a_claim_asks_only_for_what_the_scale_has() -> None:
    scale = Scale("test", "", [Line("dcl", "dcl", "dcl"), Line("er", "er", "er")])
    claim = claims.stays("dcl", "er", "er 10k")
    assert claim.verdict({"dcl": group(STEADY), "er": group(FALLING)}, scale) is not None
