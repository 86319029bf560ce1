import json
from pathlib import Path

import pytest

from everlearn import runs
from everlearn.networks.weights import load_vit

from .outcomes import SMALL, Run, assert_refused


def test_a_network_is_made_that_a_run_can_start_from(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--stream", "sprites", *SMALL, "--epochs", "1", "--out", "small.safetensors")
    facts = json.loads(run("pretrain", *words, "--json").out)
    assert (facts["classes"], facts["epochs"], facts["out"]) == (10, 1, "small.safetensors")
    assert 0 <= facts["accuracy"] <= 1
    assert load_vit("small.safetensors").n_features == 128
    started = ("--learner", "l2p", "--weights", "small.safetensors", "--tasks", "1", "--record", "record")
    assert run("run", *SMALL, *started).code == 0
    assert runs.Record(tmp_path / "record").spec["learner"]["settings"]["weights"] == "small.safetensors"


def test_a_backbone_is_made_for_learners_that_start_from_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--stream", "sprites", *SMALL, "--epochs", "1", "--out", "net.safetensors")
    facts = json.loads(run("pretrain", *words, "--backbone", "small-renorm", "--json").out)
    assert facts["classes"] == 10
    started = ("--learner", "cwr*", "--weights", "net.safetensors", "--tasks", "1", "--record", "record")
    assert run("run", *SMALL, *started).code == 0
    refused = run("run", *SMALL, "--learner", "cwr*", "--weights", "net.safetensors", "--backbone", "pooled")
    assert_refused(refused)
    assert "another network" in refused.err


def test_clothes_are_the_default_and_must_be_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    refused = run("pretrain")
    assert_refused(refused)
    assert "fashion-mnist" in refused.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("--out", "net.pt"),
        ("--out", "missing/net.safetensors"),
        ("--stream", "sprites", *SMALL, "--epochs", "0"),
        ("--stream", "sprites", *SMALL, "--batch-size", "0"),
        ("--stream", "sprits"),
        ("--stream", "sprites", *SMALL, "--backbone", "smal"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run("pretrain", *words))
    assert list(tmp_path.iterdir()) == []
