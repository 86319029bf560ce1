"""Generative negative replay: exhibits that are complete at every size, readings and claims that can fail."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from everlearn import streams
from everlearn.papers import Claim, Line, Scale, Verdict
from everlearn.papers.negative import NEGATIVE, claims
from everlearn.papers.negative.readings import average, final, growing, named, whole
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings


def run(*counts: tuple[int, int, int], inside: bool = False) -> Findings:
    """A run that gave so many right answers to so many images after so many tasks."""
    scored = [
        {"task": n - 1, "tasks": [0, 1], "correct": [right, 0], "total": [total - 1, 1], "batch": None}
        for n, right, total in counts
    ]
    more = [{"task": 0, "tasks": [0], "correct": [0], "total": [9], "batch": 3}] if inside else []
    return Findings(cast("Any", SimpleNamespace(scores=lambda: [*more, *scored])), (), 1.0)


def group(*finals: float) -> Group:
    """A seed for each accuracy at the end."""
    return Group("made up", "made up", tuple(run((1, round(1000 * value), 1000)) for value in finals))


def judged(claim: Claim, **groups: Group) -> Verdict:
    names = {name.replace("_", " "): found for name, found in groups.items()}
    scale = Scale("test", "", [Line(name, name, "gnr") for name in names])
    verdict = claim.verdict({name: names[name] for name in claim.about}, scale)
    assert verdict is not None
    return verdict


def test_promised_exhibits() -> None:
    names = [exhibit.name for exhibit in NEGATIVE.exhibits]
    assert names == ["gnr-figure-1", "gnr-table-1", "gnr-table-2", "gnr-figure-4", "gnr-degradation"]


def test_the_whole_test_set_counts_what_has_not_come_yet_as_wrong() -> None:
    """Ten images of a class each: one class, two classes, four classes."""
    found = run((1, 10, 10), (2, 15, 20), (3, 20, 40), inside=True)
    assert growing(found) == {1: 1.0, 2: 0.75, 3: 0.5}
    assert whole(found) == {1: 0.25, 2: 0.375, 3: 0.5}
    assert final(found) == 0.5
    assert average(found) == pytest.approx(0.375)


def test_how_good_patterns_were_is_a_mean_over_the_tasks_that_replayed_any() -> None:
    ended = [{"losses": {"loss": 1.0}}, {"losses": {"named": 0.5}}, {"losses": {"named": 1.0}}]
    found = run((1, 1, 2))
    assert math.isnan(named(found))
    found.ended.extend(ended)
    assert named(found) == 0.75


def test_an_order_must_be_clear_of_the_spread_over_seeds() -> None:
    claim = claims.falling("", "final", "a", "b", by=0.05)
    assert judged(claim, a=group(0.61, 0.60, 0.62), b=group(0.50, 0.51, 0.50)).holds
    assert not judged(claim, a=group(0.90, 0.50, 0.61), b=group(0.50, 0.51, 0.50)).holds, "one seed's doing"
    assert not judged(claim, a=group(0.54, 0.53, 0.54), b=group(0.50, 0.50, 0.50)).holds, "too little"
    assert not judged(claim, a=group(0.40, 0.41, 0.40), b=group(0.50, 0.50, 0.51)).holds


def test_an_upper_bound_may_be_reached() -> None:
    claim = claims.not_below("", "final", "a", "b")
    assert judged(claim, a=group(0.60, 0.59, 0.61), b=group(0.60, 0.61, 0.59)).holds
    assert not judged(claim, a=group(0.50, 0.51, 0.50), b=group(0.60, 0.61, 0.60)).holds


def test_a_crossing_needs_both_ends() -> None:
    claim = claims.crosses("", {"good": "p0", "bad": "p1"}, {"good": "n0", "bad": "n1"})
    ends = {"p0": group(0.8, 0.8), "n0": group(0.7, 0.7), "p1": group(0.3, 0.3), "n1": group(0.6, 0.6)}
    verdict = judged(claim, **ends)
    assert verdict == (True, "negative minus positive: good -0.100 ±0.000, bad 0.300 ±0.000")
    assert not judged(claim, **(ends | {"n0": group(0.9, 0.9)})).holds
    assert not judged(claim, **(ends | {"n1": group(0.2, 0.4)})).holds


def test_every_test_image_is_asked_for() -> None:
    """Or accuracy on the whole test set would not follow from that on the growing one."""
    for line in NEGATIVE.scale("laptop").lines:
        (job, *_) = line.jobs(Path())
        stream = job.spec.stream.build()
        n_classes = stream.source.n_classes
        assert n_classes * len(stream.source.pool(0, "test")) <= job.spec.evaluation.probe_size


def test_the_papers_size_is_the_papers() -> None:
    (job, *_) = NEGATIVE.scale("paper").some(["nic NR-GD"])[0].jobs(Path())
    settings, stream = job.spec.learner.settings, job.spec.stream.to_mapping()
    assert (stream["stream"], stream["scenario"], stream["image_size"]) == ("core50", "nic", 128)
    assert (job.spec.epochs, job.spec.batch_size + settings["replay_size"]) == (4, 128)
    assert (settings["memory_size"], settings["generator_rate"], settings["code_size"]) == (300, 2e-3, 100)
    assert (settings["learning_rate"], settings["body_rate"], settings["head_rate"]) == (1e-3, 1e-4, 1e-3)
    assert (settings["beta"], settings["eta"], settings["momentum"]) == (0.1, 0.01, 0.9)


def test_the_network_it_starts_from_fits_the_stream_it_meets() -> None:
    for line in NEGATIVE.scale("laptop").lines:
        (job, *_) = line.jobs(Path())
        start = NEGATIVE.starts[job.spec.learner.settings["weights"]]
        assert start.backbone == job.spec.learner.settings["backbone"]
        assert streams.build(start.stream).image_shape == job.spec.stream.build().image_shape
