"""Generative negative replay: its metrics, and its runs at the size of the paper."""

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from everlearn import streams
from everlearn.papers.claims import as_high_as
from everlearn.papers.gnr import GNR
from everlearn.papers.gnr import figures as claims
from everlearn.papers.gnr.figures import of
from everlearn.papers.gnr.real import COMPARED
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

from .helpers import group


def run(*counts: tuple[int, int, int], with_batch: bool = False) -> RunResults:
    """A run with n tasks, correct predictions and images at each evaluation."""
    scored = [
        {"task": n - 1, "n_correct": [right, 0], "n_images": [total - 1, 1], "n_batches": None}
        for n, right, total in counts
    ]
    within = [{"task": 0, "n_correct": [0], "n_images": [9], "n_batches": 3}] * with_batch
    return RunResults(cast("Any", SimpleNamespace(evaluations=lambda: [*within, *scored])), (), 1.0)


def final(*values: float) -> Group:
    """A seed for each final accuracy."""
    return group(run((1, round(1000 * value), 1000)) for value in values)


def test_full_test_set_counts_unseen_classes_as_errors() -> None:
    """Ten images per class: one class, two classes, four classes."""
    found = run((1, 10, 10), (2, 15, 20), (3, 20, 40), with_batch=True)
    assert claims.growing(found) == {1: 1.0, 2: 0.75, 3: 0.5}
    assert claims.full(found) == {1: 0.25, 2: 0.375, 3: 0.5}
    assert claims.FINAL.value(found) == 0.5
    assert claims.AVERAGE.value(found) == pytest.approx(0.375)


def test_quality_is_a_mean_over_tasks_with_replay() -> None:
    found = run((1, 1, 2))
    assert math.isnan(claims.QUALITY.value(found))
    losses = ({"loss": 1.0}, {"replay_quality": 0.5}, {"replay_quality": 1.0})
    found.ended.extend({"task": task, "losses": each} for task, each in enumerate(losses))
    assert claims.quality(found) == {2: 0.5, 3: 1.0}
    assert claims.QUALITY.value(found) == 0.75


def test_close_is_decided_by_the_interval() -> None:
    check = as_high_as(claims.FINAL, within=0.02)
    assert check({"a": final(0.50, 0.51, 0.50), "b": final(0.50, 0.50, 0.50)}).mark == "yes"
    assert check({"a": final(0.49, 0.40, 0.60), "b": final(0.50, 0.50, 0.50)}).mark == "no"
    assert check({"a": final(0.50), "b": final(0.50)}).mark == "one seed"


def test_no_claim_is_made_twice() -> None:
    claimed = [
        (claim.series, claim.check.__qualname__, experiment.name in ("gnr-table-1",))
        for experiment in GNR.experiments
        for claim in experiment.claims
        if not claim.is_ours
    ]
    assert len(set(claimed)) == len(claimed)


def test_laptop_scale_evaluates_all_images() -> None:
    """Accuracy on the full test set follows from that on the growing one only if no image is left out."""
    scale = GNR.scale("laptop")
    for spec in (scale.spec(name, seed=0) for name in scale.series):
        n_test = {"cifar-50": 100, "sprites-50": 75}[spec.stream.kind]  # of a class; CIFAR-100 has 100
        assert spec.evaluation.n_images >= 50 * n_test
    sprites = scale.spec("sprites nic PR-GD", seed=0)
    stream, settings = sprites.stream.build(), sprites.learner.settings
    assert len(stream.source.pool(0, "test")) == 75
    pretrained = GNR.pretrained[settings["weights"]]
    assert pretrained.backbone == settings["backbone"]
    assert streams.build(pretrained.stream).image_shape == stream.image_shape


@pytest.mark.parametrize("prefix", ["nc", "nic", "last block nc", "pooled nc"])
def test_lines_differ_in_replay_only(prefix: str) -> None:
    """One set of learning rates, as in the paper, and its sizes of batches."""
    scale = GNR.scale("laptop")
    specs = {name: scale.spec(name, seed=0) for name in of(prefix, *COMPARED)}
    names = ("learning_rate", "head_lr", "backbone_lr", "momentum", "weight_decay")
    assert len({tuple(spec.learner.settings[name] for name in names) for spec in specs.values()}) == 1
    for series, spec in specs.items():
        settings = spec.learner.settings
        n_replayed = settings["replay_size"] if settings.get("source", "none") != "none" else 0
        if prefix != "pooled nc":
            assert spec.batch_size + n_replayed == (128 if prefix == "nic" else 32), series


@pytest.mark.parametrize("scenario", ["nc", "nic"])
def test_lines_have_the_normalization_of_the_paper(scenario: str) -> None:
    """With frozen statistics random activations destroy the trained layers (gnr-normalization)."""
    specs = [GNR.scale("laptop").spec(name, seed=0) for name in of(scenario, *COMPARED)]
    assert {spec.learner.settings["norm"] for spec in specs} == {"renorm"}


def test_paper_scale_has_the_settings_of_the_paper() -> None:
    spec = GNR.scale("paper").spec("nic NR-GD", seed=0)
    settings, stream = spec.learner.settings, spec.stream.to_mapping()
    assert (stream["stream"], stream["scenario"], stream["image_size"]) == ("core50", "nic", 128)
    assert (spec.epochs, spec.batch_size + settings["replay_size"]) == (4, 128)
    assert (settings["memory_size"], settings["generator_lr"], settings["n_latents"]) == (300, 2e-3, 100)
    assert (settings["learning_rate"], settings["backbone_lr"], settings["head_lr"]) == (1e-3, 1e-4, 1e-3)
    assert (settings["beta"], settings["eta"], settings["momentum"]) == (0.1, 0.01, 0.9)
