"""VASE: exhibits that are complete at every size, and claims that can fail."""

from pathlib import Path

import pytest

from everlearn.papers import Exhibit, Scale
from everlearn.papers.vase import VASE
from everlearn.runs.jobs.job import check

by_scale = pytest.mark.parametrize("scale", VASE.scales, ids=lambda scale: scale.name)


@by_scale
def test_specs_are_valid_and_folders_their_own(scale: Scale, tmp_path: Path) -> None:
    jobs = [job for line in scale.lines for job in line.jobs(tmp_path)]
    assert len(check(jobs)) == len(jobs)
    assert len({job.spec.hash for job in jobs}) == len(jobs)


@by_scale
@pytest.mark.parametrize("exhibit", VASE.exhibits, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_shows_what_it_is_about(exhibit: Exhibit, scale: Scale) -> None:
    shown = [line.name for line in scale.some(exhibit.lines)]
    assert shown == list(exhibit.lines)
    assert all(set(claim.about) <= set(shown) for claim in exhibit.claims)


@by_scale
def test_no_line_is_played_for_nothing(scale: Scale) -> None:
    shown = {name for exhibit in VASE.exhibits for name in exhibit.lines}
    assert {line.name for line in scale.lines} <= shown


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
