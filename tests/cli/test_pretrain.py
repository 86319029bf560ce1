from pathlib import Path

import pytest

from everlearn import runs
from everlearn.networks.weights import load_vit

from .outcomes import SMALL, Run, assert_refused

SPRITES = ("--stream", "sprites", *SMALL)

pytestmark = pytest.mark.usefixtures("_in_tmp_path")


def run_from(weights: str, learner: str) -> tuple[str, ...]:
    return ("run", *SMALL, "--learner", learner, "--weights", weights, "--tasks", "1", "--record", "record")


def test_pretrained_vit_is_used_by_l2p(run: Run) -> None:
    data = run("pretrain", *SPRITES, "--epochs", "1", "--out", "vit.safetensors", "--json").data
    assert (data["classes"], data["epochs"], data["out"]) == (10, 1, "vit.safetensors")
    assert 0 <= data["accuracy"] <= 1
    assert load_vit("vit.safetensors").n_features == 128
    assert run(*run_from("vit.safetensors", "l2p")).code == 0
    assert runs.Record("record").spec["learner"]["settings"]["weights"] == "vit.safetensors"


def test_pretrained_backbone_is_used_by_cwr(run: Run) -> None:
    words = (*SPRITES, "--epochs", "1", "--out", "cnn.safetensors", "--backbone", "small-renorm")
    assert run("pretrain", *words, "--json").data["classes"] == 10
    assert run(*run_from("cnn.safetensors", "cwr*")).code == 0
    other = run(*run_from("cnn.safetensors", "cwr*")[:-2], "--backbone", "pooled")
    assert_refused(other)
    assert "another network" in other.err


def test_default_dataset_must_exist(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    outcome = run("pretrain")
    assert_refused(outcome)
    assert "fashion-mnist" in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("--out", "net.pt"),
        ("--out", "missing/net.safetensors"),
        (*SPRITES, "--epochs", "0"),
        (*SPRITES, "--batch-size", "0"),
        ("--stream", "sprits"),
        (*SPRITES, "--backbone", "smal"),
    ],
)
def test_invalid_options_are_rejected(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert_refused(run("pretrain", *words))
    assert list(tmp_path.iterdir()) == []
