import json
from pathlib import Path

import pytest

from everlearn.learners.dcl import DCL
from everlearn.learners.dcl_paper import DCLPaper
from everlearn.runs import Record

from .outcomes import Run, assert_refused, tree

SMALL = (
    "--tasks", "1", "--image-size", "16", "--classes-per-task", "2", "--factor-values", "2",
    "--probe-size", "8", "--set", "learner.width=4", "--new", "3",
)  # fmt: skip


@pytest.fixture
def two_ideas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, dict[str, object]]:
    """Two of the ideas only, in a folder of our own; all of them are tried in `make slow`."""
    ideas: dict[str, dict[str, object]] = {"pose refinement": {"n_refinements": 0}, "codes": {"block": 1}}
    monkeypatch.setattr(DCL, "ablations", ideas)
    monkeypatch.chdir(tmp_path)
    return ideas


def test_each_idea_is_switched_off_in_turn(run: Run, two_ideas: dict[str, dict[str, object]]) -> None:
    facts = json.loads(run("ablate", *SMALL, "--json").out)
    assert [row["idea"] for row in facts["without"]] == ["nothing", *two_ideas]
    for row, off in zip(facts["without"], ({}, *two_ideas.values()), strict=True):
        record = Record(row["record"])
        settings = record.spec["learner"]["settings"]
        assert settings == {**Record(facts["without"][0]["record"]).spec["learner"]["settings"], **off}
        assert record.is_finished
        assert 0 <= row["new_classes"] <= 1


def test_what_is_finished_is_not_played_again(
    run: Run, two_ideas: dict[str, dict[str, object]], tmp_path: Path
) -> None:
    first = json.loads(run("ablate", *SMALL, "--json").out)
    before = tree(tmp_path / "ablation")
    again = json.loads(run("ablate", *SMALL, "--json").out)
    assert tree(tmp_path / "ablation") == before
    for row, same in zip(first["without"], again["without"], strict=True):
        assert {**row, "milliseconds": 0} == {**same, "milliseconds": 0}


def test_people_get_a_table(run: Run, two_ideas: dict[str, dict[str, object]]) -> None:
    out = run("ablate", *SMALL).out
    assert "3 new classes" in out
    for idea in two_ideas:
        assert idea in out


def test_new_classes_need_not_be_asked(run: Run, two_ideas: dict[str, dict[str, object]]) -> None:
    words = [*SMALL[:-1], "0"]
    assert "ms an answer" not in run("ablate", *words).out
    assert "new_classes" not in json.loads(run("ablate", *words, "--json").out)["without"][0]


def test_every_idea_is_a_setting_that_differs() -> None:
    whole = DCL.tiny()
    for off in DCL.ablations.values():
        DCL(image_shape=(16, 16), **off)
    assert whole.ablations.keys() >= {"pose refinement", "alignment", "batch skipping"}
    assert not DCLPaper.ablations


@pytest.mark.parametrize(
    "words", [("--learner", "naive"), ("--new", "-1"), ("--new", "many"), ("--learner", "dlc")]
)
def test_what_cannot_be_done_is_refused(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    before = tree(tmp_path)
    assert_refused(run("ablate", "--records", str(tmp_path / "here"), *words))
    assert tree(tmp_path) == before
