"""What holds for every paper at every size: complete, valid, and about runs that can be played."""

from collections import Counter
from pathlib import Path

import pytest

from everlearn.papers import PAPERS, Claim, Exhibit, Line, Paper, Scale, Verdict
from everlearn.runs.sweep.jobs import check

ROOT = Path(__file__).parents[2]

by_scale = pytest.mark.parametrize(
    ("paper", "scale"),
    [
        pytest.param(paper, scale, id=f"{paper.name}-{scale.name}")
        for paper in PAPERS
        for scale in paper.scales
    ],
)
by_exhibit = pytest.mark.parametrize(
    ("exhibit", "scale"),
    [
        pytest.param(exhibit, scale, id=f"{exhibit.name}-{scale.name}")
        for paper in PAPERS
        for exhibit in paper.exhibits
        for scale in paper.scales
    ],
)
by_paper = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)


def test_a_name_means_one_thing() -> None:
    names = Counter(name for paper in PAPERS for name in (paper.name, *(e.name for e in paper.exhibits)))
    assert set(names.values()) == {1}
    assert len({paper.page for paper in PAPERS}) == len(PAPERS)


@by_scale
def test_specs_are_valid_and_folders_their_own(paper: Paper, scale: Scale, tmp_path: Path) -> None:
    jobs = [job for line in scale.lines for job in line.jobs(tmp_path)]
    assert len(check(jobs)) == len(jobs)
    assert len({job.spec.hash for job in jobs}) == len(jobs)


@by_scale
def test_no_line_is_played_for_nothing(paper: Paper, scale: Scale) -> None:
    shown = {name for exhibit in paper.exhibits for name in exhibit.lines}
    assert {line.name for line in scale.lines} <= shown


@by_exhibit
def test_an_exhibit_shows_what_it_is_about(exhibit: Exhibit, scale: Scale) -> None:
    shown = {line.name for line in scale.some(exhibit.lines)}
    assert shown
    for claim in exhibit.claims:
        assert set(claim.about) <= set(exhibit.lines)
        assert {line.name for line in scale.some(claim.about)} <= shown


@by_paper
def test_somebody_speaks_for_every_claim_on_a_laptop(paper: Paper) -> None:
    for exhibit in paper.exhibits:
        assert len(exhibit.at(paper.scale("laptop")).claims) == len(exhibit.claims)


def test_what_nobody_can_speak_for_is_not_asked() -> None:
    claims = [Claim(name, (name,), lambda groups: Verdict(True, "")) for name in "ab"]
    exhibit = Exhibit("figure-0", "", ("a", "b"), claims)
    scale = Scale("test", "", [Line("b", "b", "naive")])
    assert [claim.words for claim in exhibit.at(scale).claims] == ["b"]


@by_paper
def test_kept_records_play_what_the_laptop_scale_says(paper: Paper) -> None:
    jobs = [job for line in paper.scale("laptop").lines for job in line.jobs(ROOT / "results")]
    check(job for job in jobs if job.record() is not None)
