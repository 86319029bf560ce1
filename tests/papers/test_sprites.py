"""The paper's exhibits at every size: complete, valid, and about runs that can be played."""

from pathlib import Path
from typing import Any

import pytest

from everlearn.papers import Exhibit, Line, Scale
from everlearn.papers.sprites import SPRITES
from everlearn.runs import play
from everlearn.runs.events import Scored
from everlearn.runs.jobs.job import check

ROOT = Path(__file__).parents[2]
PROMISED = [
    *(f"figure-{number}" for number in range(3, 9)), "table-1", "figure-9", "figure-10",
    "appendix-agem", "appendix-der", "rivals",
]  # fmt: skip

EXHIBITS, SCALES = SPRITES.exhibits, SPRITES.scales

by_name = pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.name)


def test_every_promised_exhibit_is_there() -> None:
    assert [exhibit.name for exhibit in EXHIBITS] == PROMISED


@by_name
def test_specs_are_valid_and_folders_their_own(scale: Scale, tmp_path: Path) -> None:
    jobs = [job for line in scale.lines for job in line.jobs(tmp_path)]
    assert len(check(jobs)) == len(jobs)
    assert len({job.spec.hash for job in jobs}) == len(jobs)


@by_name
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_shows_what_it_is_about(exhibit: Exhibit, scale: Scale) -> None:
    shown = {line.name for line in scale.some(exhibit.lines)}
    for claim in exhibit.claims:
        assert set(claim.about) <= set(exhibit.lines)
        assert {line.name for line in scale.some(claim.about)} <= shown
        assert scale.some(claim.about), "somebody must be there to speak for it"


@by_name
def test_no_line_is_played_for_nothing(scale: Scale) -> None:
    assert {line.name for line in scale.lines} <= {name for exhibit in EXHIBITS for name in exhibit.lines}


def test_kept_records_play_what_the_laptop_scale_says() -> None:
    (laptop,) = (scale for scale in SCALES if scale.name == "laptop")
    jobs = [job for line in laptop.lines for job in line.jobs(ROOT / "results")]
    assert check(job for job in jobs if job.record() is not None)


def test_the_papers_size_is_the_papers() -> None:
    (paper,) = (scale for scale in SCALES if scale.name == "paper")
    (job,) = paper.some(["er 20k"])[0].jobs(Path())
    spec = job.spec
    stream = spec.stream.to_mapping()
    assert (spec.n_tasks, spec.epochs, spec.batch_size) == (500, 5, 256)
    assert (stream["classes_per_task"], stream["factor_values"]) == (10, 5)
    assert spec.learner.settings["backbone"] == "resnet18"
    assert spec.learner.settings["memory_size"] == 20_000


def test_first_tasks_are_the_same_run_cut_short(tmp_path: Path) -> None:
    (whole,), (begun,) = (
        scale.some(["er 20k"])[0].jobs(tmp_path)
        for scale in (SPRITES.scale("paper"), SPRITES.scale("paper").begun(2, "cpu"))
    )
    assert whole.folder != begun.folder
    assert (begun.spec.n_tasks, begun.spec.device) == (2, "cpu")
    assert (begun.spec.stream, begun.spec.learner) == (whole.spec.stream, whole.spec.learner)


@pytest.mark.slow
@pytest.mark.parametrize("line", SPRITES.scale("paper").begun(1, "cpu").lines, ids=lambda line: line.name)
def test_the_papers_size_can_be_played(line: Line, tmp_path: Path) -> None:
    """Pictures, networks, buffers and learners are the paper's; only two classes of 16 images, seen once."""
    few: dict[str, Any] = {
        "stream.factor_values": 2,
        "stream.classes_per_task": 2,
        "evaluation.probe_size": 10,
        "epochs": 1,
        "batch_size": 32,
    }
    if "learner.weights" in line.settings:
        few["learner.weights"] = ""  # these can only be had from a hub
    (job,) = line.changed(few, "few").jobs(tmp_path)
    (score,) = (event for event in play(job.spec) if isinstance(event, Scored))
    assert sum(score.total) == len(job.spec.stream.build().task(0).test)
