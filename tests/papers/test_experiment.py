"""All papers at all scales: complete, with valid runs that some experiment shows."""

from collections import Counter
from pathlib import Path

import pytest

from everlearn.papers import PAPERS, Claim, Experiment, Paper, Scale, Series, Verdict
from everlearn.papers.experiment import Run
from everlearn.papers.sprites import SPRITES
from everlearn.runs.sweep.jobs import check_jobs

from .helpers import accuracy_group

ROOT = Path(__file__).parents[2]
NAMES = [
    "figure-3", "figure-4", "figure-4-start", *(f"figure-{number}" for number in range(5, 9)), "table-1",
    "figure-9", "figure-10", "appendix-agem",
    "appendix-der", "replay-vs-joint",
    "gnr-figure-1", "gnr-table-1", "gnr-figure-4", "gnr-table-2", "gnr-figure-6", "gnr-quality",
    "gnr-normalization", "gnr-generator", "gnr-rates", "gnr-layers", "gnr-sprites",
    "vase-table-1", "vase-figure-2", "vase-figure-3", "vase-figure-4b", "vase-figure-5", "vase-long",
    "vase-recurring", "vase-large-objects", "vase-choices",
]  # fmt: skip

LAPTOP_ONLY = ("gnr-rates", "gnr-layers", "gnr-sprites", "vase-long")
"""Experiments that exist at one scale."""

by_scale = pytest.mark.parametrize(
    ("paper", "scale"),
    [
        pytest.param(paper, scale, id=f"{paper.name}-{scale.name}")
        for paper in PAPERS
        for scale in paper.scales
    ],
)
by_paper = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)

TRUE = Claim("", ("a", "b"), lambda groups: Verdict(True, ", ".join(groups)))
BOTH = Scale("smoke", "", [Series("b", "naive", Run()), Series("a", "naive", Run()), Series("c", "naive")])


def test_experiments_are_complete_and_names_unique() -> None:
    assert [experiment.name for paper in PAPERS for experiment in paper.experiments] == NAMES
    assert max(Counter([*NAMES, *(paper.name for paper in PAPERS)]).values()) == 1
    assert len({paper.page for paper in PAPERS}) == len(PAPERS)


@by_scale
def test_specs_are_valid_and_records_separate(paper: Paper, scale: Scale, tmp_path: Path) -> None:
    jobs = [job for name in scale.series for job in scale.jobs(name, tmp_path)]
    assert len(check_jobs(jobs)) == len(jobs)
    assert len({job.spec.hash for job in jobs}) == len(jobs)


@by_scale
def test_every_series_is_shown_and_every_experiment_has_some(paper: Paper, scale: Scale) -> None:
    shown = {name for experiment in paper.experiments for name in experiment.series}
    assert set(scale.series) <= shown
    for experiment in paper.experiments:
        assert scale.select(experiment.series) or (experiment.name in LAPTOP_ONLY and scale.name != "laptop")
        assert all(set(claim.series) <= set(experiment.series) for claim in experiment.claims)


@by_paper
def test_laptop_scale_can_check_every_claim_and_matches_the_committed_records(paper: Paper) -> None:
    scale = paper.scale("laptop")
    for experiment in paper.experiments:
        assert len(experiment.at(scale).claims) == len(experiment.claims)
    jobs = [job for name in scale.series for job in scale.jobs(name, ROOT / "results")]
    check_jobs(job for job in jobs if job.record() is not None)


def test_claims_about_absent_series_are_left_out() -> None:
    claims = [Claim(name, (name,), TRUE.check) for name in "abc"]
    experiment = Experiment("figure-0", "", ("a", "b", "c"), claims)
    assert [claim.text for claim in experiment.at(BOTH).claims] == ["a", "b"]


def test_verdict_waits_for_all_series_of_the_scale() -> None:
    a, b = accuracy_group([1.0]), accuracy_group([1.0])
    assert TRUE.verdict({"a": a}, BOTH) is None
    assert TRUE.verdict({"b": b, "a": a}, BOTH) == Verdict(True, "a, b")
    assert TRUE.verdict({"a": a}, Scale("smoke", "", BOTH.table[1:])) == Verdict(True, "a")


def test_first_tasks_shorten_the_same_run(tmp_path: Path) -> None:
    (full,), (short,) = (
        scale.jobs("er 20k", tmp_path)
        for scale in (SPRITES.scale("paper"), SPRITES.scale("paper").first_tasks(2, "cpu"))
    )
    assert full.folder != short.folder
    assert (short.spec.n_tasks, short.spec.device) == (2, "cpu")
    assert (short.spec.stream, short.spec.learner) == (full.spec.stream, full.spec.learner)
