"""Generative negative replay: its metrics, and its runs at the size of the paper."""

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from everlearn import streams
from everlearn.papers.gnr import GNR
from everlearn.papers.gnr import figures as claims
from everlearn.papers.gnr.figures import of
from everlearn.papers.gnr.real import VARIANTS
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


def test_replay_accuracy_is_a_mean_over_tasks_with_replay() -> None:
    found = run((1, 1, 2))
    assert math.isnan(claims.REPLAY_ACCURACY.value(found))
    losses = ({"loss": 1.0}, {"replay_accuracy": 0.5}, {"replay_accuracy": 1.0})
    found.ended.extend({"losses": each} for each in losses)
    assert claims.REPLAY_ACCURACY.value(found) == 0.75


def test_crossing_needs_both_ends() -> None:
    check = claims.crosses({"good": "p0", "bad": "p1"}, {"good": "n0", "bad": "n1"})
    ends = {"p0": final(0.8, 0.8), "p1": final(0.3, 0.3), "n0": final(0.7, 0.7), "n1": final(0.6, 0.6)}
    observed = "negative minus positive: good -0.100 ±0.000, bad 0.300 ±0.000"
    assert check(ends)[:2] == (True, observed)
    assert not check(ends | {"n0": final(0.9, 0.9)}).holds
    assert not check(ends | {"n1": final(0.2, 0.4)}).holds


def test_laptop_scale_evaluates_all_images_and_fits_its_pretrained_network() -> None:
    """Accuracy on the full test set follows from that on the growing one only if no image is left out."""
    scale = GNR.scale("laptop")
    names = [name for name in scale.series if not name.startswith("real ")]
    for spec in (scale.spec(name, seed=0) for name in names):
        stream, settings = spec.stream.build(), spec.learner.settings
        assert stream.source.n_classes * len(stream.source.pool(0, "test")) <= spec.evaluation.n_images
        pretrained = GNR.pretrained[settings["weights"]]
        assert pretrained.backbone == settings["backbone"]
        assert streams.build(pretrained.stream).image_shape == stream.image_shape


def test_lines_with_real_images_differ_in_replay_only() -> None:
    """One set of learning rates, as in the paper, and its sizes of batches and memory."""
    scale = GNR.scale("laptop")
    specs = {name: scale.spec(name, seed=0) for name in scale.series if name in of("real nc", *VARIANTS)}
    assert len(specs) == 10
    for spec in specs.values():
        settings = spec.learner.settings
        assert (spec.stream.kind, spec.epochs, settings["weights"]) == ("cifar-50", 4, "imagenet")
        assert spec.evaluation.n_images >= 50 * 100
        rates = [settings[name] for name in ("learning_rate", "head_lr", "backbone_lr", "momentum")]
        assert rates == [
            specs["real nc PR-OD"].learner.settings[name]
            for name in ("learning_rate", "head_lr", "backbone_lr", "momentum")
        ]
        n_replayed = settings["replay_size"] if settings.get("source", "none") != "none" else 0
        assert spec.batch_size + n_replayed == 128


def test_paper_scale_has_the_settings_of_the_paper() -> None:
    spec = GNR.scale("paper").spec("nic NR-GD", seed=0)
    settings, stream = spec.learner.settings, spec.stream.to_mapping()
    assert (stream["stream"], stream["scenario"], stream["image_size"]) == ("core50", "nic", 128)
    assert (spec.epochs, spec.batch_size + settings["replay_size"]) == (4, 128)
    assert (settings["memory_size"], settings["generator_lr"], settings["n_latents"]) == (300, 2e-3, 100)
    assert (settings["learning_rate"], settings["backbone_lr"], settings["head_lr"]) == (1e-3, 1e-4, 1e-3)
    assert (settings["beta"], settings["eta"], settings["momentum"]) == (0.1, 0.01, 0.9)
