"""VASE: exhibits that are complete at every size, claims that can fail, and all of it played once."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from everlearn.evaluation.probes import Probing
from everlearn.papers import Claim, Line, Scale, Verdict
from everlearn.papers.page import page
from everlearn.papers.vase import VASE, claims
from everlearn.papers.vase.readings import best_of
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings

from .played import played


def test_the_table_has_every_row_of_the_paper() -> None:
    lines = {line.name: line for line in VASE.scale("laptop").lines}
    assert [name for name in VASE.exhibits[0].lines if "entangled" not in name] == [
        "CCI-VAE",
        "S",
        "D",
        "A",
        "SA",
        "DA",
        "SD",
        "SDA",
        "VAE",
        "SD-[41]",
    ]
    assert all(lines[name].seeds == (0, 1, 2) for name in ("CCI-VAE", "A", "SD", "SDA"))
    assert lines["SD-[41]"].settings["learner.decoder_weight"] == 0


def run(lost: float = 0.0, best: float = 0.8, answer: Mapping[str, Any] | None = None) -> Findings:
    """A run that reads as much as `best` in the first of two stages, and so much less in the end."""
    moments = [("a", best, 0.001), ("b", best - lost, 0.001 + lost / 100)]
    rows = (
        Probing(k, shown, None, {"a": {"object": x, "position": error}})
        for k, (shown, x, error) in enumerate(moments)
    )
    found = Findings(cast("Any", None), (), 1.0, probings=tuple(rows))
    found.__dict__["answers"] = {} if answer is None else {"environments": answer}
    return found


def group(*runs: Findings) -> Group:
    return Group("made up", "made up", runs)


def losing(*lost: float) -> Group:
    return group(*map(run, lost))


def judged(claim: Claim, **groups: Group) -> Verdict:
    verdict = claim.verdict(groups, Scale("test", "", [Line(name, name, "vase") for name in groups]))
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("quantity", ["object", "position"])
def test_losing_half_is_little_enough(quantity: str) -> None:
    claim = claims.loses_half("", quantity, "ours", "theirs")
    assert judged(claim, ours=losing(0.05, 0.06), theirs=losing(0.2, 0.3)).holds
    assert not judged(claim, ours=losing(0.2, 0.2), theirs=losing(0.2, 0.3)).holds
    assert not judged(claim, ours=losing(0.0, 0.0), theirs=losing(0.2, 0.0)).holds, "theirs forgot nothing"
    assert not judged(claim, ours=group(Findings(cast("Any", None), (), 1.0)), theirs=losing(0.1)).holds


@pytest.mark.parametrize("quantity", ["object", "position"])
def test_more_must_be_lost_under_every_seed(quantity: str) -> None:
    claim = claims.loses_more("", quantity, "worse", "better")
    assert judged(claim, worse=losing(0.3, 0.31, 0.29), better=losing(0.1, 0.1, 0.1)).holds
    assert judged(claim, worse=losing(0.3), better=losing(0.1)).holds, "of one seed no more can be asked"
    assert not judged(claim, worse=losing(0.9, 0.1, 0.1), better=losing(0.1, 0.1, 0.1)).holds
    assert not judged(claim, worse=losing(0.1), better=losing(0.3)).holds


def test_less_is_known_at_the_end_if_every_seed_says_so() -> None:
    claim = claims.knows_less("", "object", "worse", "better")
    assert judged(claim, worse=losing(0.3, 0.31, 0.29), better=losing(0.1, 0.1, 0.1)).holds
    assert not judged(claim, worse=losing(0.9, 0.1, 0.1), better=losing(0.1, 0.1, 0.1)).holds
    assert not judged(claim, worse=losing(0.1), better=losing(0.3)).holds


def test_the_best_may_be_a_little_lower() -> None:
    claim = claims.as_good_at_best("", "object", "ours", "theirs", 0.03)
    assert judged(claim, ours=group(run(best=0.78)), theirs=group(run(best=0.80))).holds
    assert not judged(claim, ours=group(run(best=0.70)), theirs=group(run(best=0.80))).holds


def test_the_papers_own_figures_must_be_reached() -> None:
    reached, kept = (
        claims.reaches("", "object", "ours", 0.886),
        claims.loses_at_most("", "object", "ours", 0.054),
    )
    assert judged(reached, ours=group(run(best=0.88), run(best=0.90))).holds
    assert not judged(reached, ours=group(run(best=0.88))).holds
    assert judged(kept, ours=losing(0.04, 0.06)).holds
    assert not judged(kept, ours=losing(0.06)).holds


def test_the_best_of_an_environment_that_is_not_shown_is_no_number() -> None:
    assert best_of("a")(run(best=0.7)) == 0.7
    assert math.isnan(best_of("b")(run(best=0.7)))


def noticing(right: int = 2, latest: float | None = 3.0, false_new: float = 0.0) -> Findings:
    whole = {"n_right": right, "n_changes": 2, "latest": latest, "false_new": false_new}
    return run(answer={"detection": whole})


def test_changes_must_be_noticed_soon_and_rightly() -> None:
    claim = claims.notices("", "ours")
    assert judged(claim, ours=group(noticing(), noticing(latest=5.0, false_new=1.0))).holds
    for bad in (noticing(right=1), noticing(latest=6.0), noticing(false_new=1.1), noticing(0, None)):
        assert not judged(claim, ours=group(noticing(), bad)).holds
    assert judged(claim, ours=group(noticing())).saw.startswith("2 of 2 found, the last after 3 batches")


def test_what_comes_back_must_be_known() -> None:
    def returning(*found: str, delay: float = 3.0) -> Group:
        stages = [
            {"name": "a", "is_new": n == 0, "found": word, "delay": None if word == "missed" else delay}
            for n, word in enumerate(found)
        ]
        return group(run(answer={"stages": stages}))

    claim = claims.recognises("", "ours")
    assert judged(claim, ours=returning("new", "known")) == (True, "a: known after 3 batches")
    assert not judged(claim, ours=returning("new", "known", delay=0.0)).holds, "it never left"
    assert not judged(claim, ours=returning("new", "new")).holds
    assert not judged(claim, ours=returning("new", "known", "missed")).holds
    assert not judged(claim, ours=returning("new")).holds, "nothing came back"


def test_two_latents_of_places_must_be_shared_and_closed() -> None:
    def saying(shared: list[int], masked: list[int]) -> Findings:
        return run(answer={"shared": shared, "masked": masked})

    claim = claims.shares_places("", "ours")
    assert judged(claim, ours=group(saying([1, 4], [1, 4]), saying([0, 2, 3], [0, 2, 3]))).holds
    assert not judged(claim, ours=group(saying([1, 4], [1, 4]), saying([1, 4], [1]))).holds
    assert not judged(claim, ours=group(saying([1], [1]))).holds


def test_an_exhibit_is_played_drawn_and_judged(tmp_path: Path) -> None:
    shown = played(VASE, "vase-returning", tmp_path)
    text = page([shown], VASE.scale("smoke"), VASE.title)
    assert "| drift |" in text
    assert "accuracy" not in text, "nobody here answers"
