"""VASE's figures 4B and 5: claims that can fail, and all of it played once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from everlearn.evaluation.probes import Probing
from everlearn.papers import Claim, Line, Scale, Verdict
from everlearn.papers.vase import VASE, imagined
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings

from .played import played


def group(*answers: Mapping[str, Any]) -> Group:
    """A run for each set of answers."""
    runs = [Findings(cast("Any", None), (), 1.0) for _ in answers]
    for run, answer in zip(runs, answers, strict=True):
        run.__dict__["answers"] = answer
    return Group("made up", "made up", tuple(runs))


def judged(claim: Claim, **groups: Group) -> Verdict:
    verdict = claim.verdict(groups, Scale("test", "", [Line(name, name, "vase") for name in groups]))
    assert verdict is not None
    return verdict


def translating(off: float = 0.05, there: float = 0.9, kept: float | None = 0.6) -> dict[str, Any]:
    """Two moving environments and a still one; of a thing itself all is known."""
    itself = {"there": 1.0, "off": 0.0, "kept": 1.0}
    other = {"there": there, "off": off, "kept": kept}
    still = {"there": there, "off": None, "kept": kept}
    rows = [[itself, other, still], [other, itself, still], [{**other, "off": 9.0}, other, itself]]
    return {"translation": {"outcomes": rows, "still": [0.3, 0.3, 0.0]}}


def test_means_leave_out_a_thing_itself_and_places_of_what_never_moved() -> None:
    (run,) = group(translating()).runs
    assert imagined.translated("off")(run) == pytest.approx(0.05)
    assert imagined.translated("there")(run) == pytest.approx(0.9)


def test_places_must_follow_under_every_seed() -> None:
    claim = imagined.places_follow("", "ours")
    assert judged(claim, ours=group(translating(0.05), translating(0.14))).holds
    verdict = judged(claim, ours=group(translating(0.05), translating(0.16)))
    assert not verdict.holds
    assert verdict.saw.endswith("0.300 if they stood still")


@pytest.mark.parametrize(
    ("score", "better", "worse"),
    [
        ("off", translating(off=0.05), translating(off=0.1)),
        ("there", translating(there=0.9), translating(there=0.8)),
        ("kept", translating(kept=0.6), translating(kept=0.3)),
    ],
)
def test_better_is_less_for_errors_and_more_for_shares(
    score: str, better: dict[str, Any], worse: dict[str, Any]
) -> None:
    claim = imagined.translates_better("", score, "ours", "theirs")
    assert judged(claim, ours=group(better), theirs=group(worse)).holds
    assert not judged(claim, ours=group(worse), theirs=group(better)).holds
    assert not judged(claim, ours=group(better), theirs=group(better)).holds


def test_what_images_cannot_tell_apart_is_no_better() -> None:
    claim = imagined.translates_better("", "kept", "ours", "theirs")
    ours, theirs = translating(kept=0.136), translating(kept=0.131)
    assert not judged(claim, ours=group(ours), theirs=group(theirs)).holds


def test_nobody_is_better_where_nothing_is_measured() -> None:
    claim = imagined.translates_better("", "kept", "ours", "theirs")
    assert not judged(claim, ours=group(translating()), theirs=group(translating(kept=None))).holds


WEIGHTS = [0.0, 0.25, 0.5, 0.75, 1.0]


def curve(context: str, n_above: int, width: float = 0.02) -> dict[str, Any]:
    """Decisions for the one at the last so many of five weights."""
    flip = {"point": 1 - n_above / 5, "width": width} if 0 < n_above < 5 else None
    return {
        "context": context,
        "n_mixed": 40,
        "decided": [0.0] * (5 - n_above) + [1.0] * n_above,
        "flip": flip,
    }


def doubting(
    one: int = 4, alone: int = 3, other: int = 1, width: float = 0.02, middle: float = 0.9
) -> dict[str, Any]:
    spread = [0.5, 0.6, middle, 0.6, 0.55]
    curves = [curve("", alone, width), curve("a", one), curve("b", other)]
    told = {"names": ["a", "b"], "weights": WEIGHTS, "curves": curves, "deviations": [spread, None]}
    return {"ambiguity": told}


def test_a_boundary_must_be_sharp() -> None:
    claim = imagined.flips_sharply("", "ours")
    assert judged(claim, ours=group(doubting(), doubting())) == (
        True,
        "at 0.40 within 0.02, at 0.40 within 0.02",
    )
    assert not judged(claim, ours=group(doubting(), doubting(width=0.3))).holds
    assert not judged(claim, ours=group(doubting(alone=0))).holds


def test_company_must_move_the_boundary_both_ways() -> None:
    claim = imagined.company_counts("", "ours")
    assert judged(claim, ours=group(doubting())).holds
    assert judged(claim, ours=group(doubting(one=5, other=0))).holds, "so strongly that nothing flips"
    assert not judged(claim, ours=group(doubting(other=3))).holds
    assert not judged(claim, ours=group(doubting(one=2))).holds


def test_doubt_must_be_greatest_in_between() -> None:
    claim = imagined.doubts_between("", "ours")
    assert judged(claim, ours=group(doubting())) == (True, "σ near the flip less both ends: +0.350")
    assert not judged(claim, ours=group(doubting(middle=0.5))).holds
    assert not judged(claim, ours=group(doubting(alone=0))).holds, "where nothing flips nobody doubts"


def foreseeing(*named: float) -> Group:
    """Runs that name so many things of c at the end of the stage before it."""
    runs = []
    for share in named:
        rows = [("a", 0.1), ("b", 0.2), ("b", share), ("c", 0.95)]
        tasks = (0, 1, 1, 2)
        probings = tuple(
            Probing(task, shown, None, {"c": {"object": x}})
            for task, (shown, x) in zip(tasks, rows, strict=True)
        )
        runs.append(Findings(cast("Any", None), (), 1.0, probings=probings))
    return Group("made up", "made up", tuple(runs))


def test_what_is_to_come_must_be_named_better_before_it_comes() -> None:
    claim = imagined.foresees("", "ours", "theirs")
    assert imagined.foreseen(foreseeing(0.7).runs[0]) == 0.7
    assert judged(claim, ours=foreseeing(0.7), theirs=foreseeing(0.5, 0.4)).holds
    assert not judged(claim, ours=foreseeing(0.5), theirs=foreseeing(0.7)).holds
    assert not judged(claim, ours=foreseeing(0.52), theirs=foreseeing(0.5)).holds, "chance could have done it"
    assert not judged(claim, ours=foreseeing(0.9, 0.4, 0.5), theirs=foreseeing(0.5, 0.5, 0.5)).holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vase-figure-4b", "vase-figure-5"])
def test_an_exhibit_is_played_drawn_and_judged(name: str, tmp_path: Path) -> None:
    assert played(VASE, name, tmp_path).groups
