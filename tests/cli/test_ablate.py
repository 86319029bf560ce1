from pathlib import Path

import pytest

from everlearn.learners.dcl import DCL
from everlearn.learners.dcl_paper import DCLPaper
from everlearn.runs import Record

from .outcomes import Run, assert_refused, tree

SMALL = (
    "--tasks", "1", "--image-size", "16", "--classes-per-task", "2", "--factor-values", "2",
    "--eval-images", "8", "--set", "learner.width=4", "--new", "3",
)  # fmt: skip
Ablations = dict[str, dict[str, object]]


@pytest.fixture
def two_ablations(monkeypatch: pytest.MonkeyPatch, _in_tmp_path: None) -> Ablations:
    """Two of DCL's ablations; `make slow` runs all."""
    ablations: Ablations = dict(list(DCL.ablations.items())[:2])
    monkeypatch.setattr(DCL, "ablations", ablations)
    return ablations


def test_ablations_run_once_each(run: Run, two_ablations: Ablations, tmp_path: Path) -> None:
    data = run("ablate", *SMALL, "--json").data
    assert [row["ablation"] for row in data["ablations"]] == ["nothing", *two_ablations]
    full = Record(data["ablations"][0]["record"]).spec["learner"]["settings"]
    for row, off in zip(data["ablations"], ({}, *two_ablations.values()), strict=True):
        record = Record(row["record"])
        assert record.spec["learner"]["settings"] == {**full, **off}
        assert record.is_finished
        assert 0 <= row["new_classes"] <= 1
    before = tree(tmp_path / "ablation")
    again = run("ablate", *SMALL, "--json").data
    assert tree(tmp_path / "ablation") == before
    timed = [{**row, "milliseconds": 0} for row in data["ablations"]]
    assert [{**row, "milliseconds": 0} for row in again["ablations"]] == timed
    out = run("ablate", *SMALL).out
    assert all(word in out for word in ("3 new classes", *two_ablations))


def test_one_shot_evaluation_is_optional(run: Run, two_ablations: Ablations) -> None:
    words = [*SMALL[:-1], "0"]
    assert "ms per prediction" not in run("ablate", *words).out
    assert "new_classes" not in run("ablate", *words, "--json").data["ablations"][0]


def test_every_ablation_changes_a_setting() -> None:
    for off in DCL.ablations.values():
        DCL(image_shape=(16, 16), **off)
    assert len(DCL.ablations) >= 3
    assert not DCLPaper.ablations


@pytest.mark.parametrize(
    "words", [("--learner", "naive"), ("--new", "-1"), ("--new", "many"), ("--learner", "dlc")]
)
def test_invalid_ablation_is_rejected(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert_refused(run("ablate", "--records", str(tmp_path / "records"), *words))
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_in_tmp_path")
def test_learner_of_a_file_is_ablated(run: Run) -> None:
    assert run("new", "learner", "odd_method").code == 0
    path = Path("odd_method.py")
    path.write_text(path.read_text() + '\n    ablations = {"replay": {"replay_weight": 0.0}}\n')
    small = (*SMALL[:-4], "--new", "0")  # without a setting of DCL
    rows = run("ablate", "--learner", "odd_method.py:OddMethod", *small, "--json").data["ablations"]
    assert [row["ablation"] for row in rows] == ["nothing", "replay"]
    assert Record(rows[1]["record"]).spec["learner"]["settings"]["replay_weight"] == 0.0
