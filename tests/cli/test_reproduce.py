import json
from pathlib import Path

import pytest

from everlearn.papers import PAPERS

from .outcomes import Run, assert_refused, tree

SMOKE = ("--scale", "smoke", "--records")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "figure-4"),
        (("figure-44",), "figure-4"),
        (("figure-4", "--scale", "lap"), "laptop"),
        (("figure-4", "--workers", "0"), "workers"),
        (("figure-4", "--records", "a\0b"), "NUL"),
        (("figure-4", "--first", "0"), "first"),
        (("figure-4", "--first", "1.5"), "first"),
    ],
)
def test_nonsense_is_a_sentence(run: Run, words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    outcome = run("reproduce", *words)
    assert_refused(outcome)
    assert told in outcome.err
    assert not list(tmp_path.iterdir())


def test_its_help_names_every_figure(run: Run) -> None:
    told = run("reproduce", "--help").out
    between = {f"figure-{number}" for number in range(4, 10)}
    names = {exhibit.name for paper in PAPERS for exhibit in paper.exhibits} - between
    assert [name for name in sorted(names) if name not in told] == []


def test_a_dry_run_lists_and_makes_nothing(run: Run, tmp_path: Path) -> None:
    facts = json.loads(run("reproduce", "figure-7", *SMOKE, str(tmp_path / "r"), "--dry-run", "--json").out)
    assert [row["learner"] for row in facts["runs"]] == ["dcl", "contrastive", "naive"]
    assert {row["state"] for row in facts["runs"]} == {"missing"}
    assert not (tmp_path / "r").exists()


def test_a_figure_is_played_drawn_and_judged_once(run: Run, tmp_path: Path) -> None:
    words = ("reproduce", "figure-7", *SMOKE, str(tmp_path / "r"), "--out", str(tmp_path / "o"), "--json")
    facts = json.loads(run(*words).out)
    assert facts["finished"] == 3
    assert [claim["exhibit"] for claim in facts["claims"]] == ["figure-7"] * 3
    assert all(isinstance(claim["holds"], bool) for claim in facts["claims"])
    assert (tmp_path / "o" / "figures" / "figure-7.svg").read_text().startswith("<?xml")
    page = (tmp_path / "o" / "results.md").read_text()
    for claim in facts["claims"]:
        assert claim["saw"] in page
    before = tree(tmp_path / "r")
    assert json.loads(run(*words).out)["claims"] == facts["claims"]
    assert tree(tmp_path / "r") == before, "nothing is played twice"


def test_the_first_tasks_are_tried_in_records_of_their_own(run: Run, tmp_path: Path) -> None:
    words = ("reproduce", "figure-7", *SMOKE, str(tmp_path), "--first", "2", "--dry-run", "--json")
    rows = json.loads(run(*words).out)["runs"]
    assert {Path(row["record"]).name for row in rows} == {
        f"{name}-first-2-seed-0" for name in ("dcl", "contrastive", "naive")
    }


def test_another_paper_has_a_page_of_its_own(run: Run, tmp_path: Path) -> None:
    words = ("reproduce", "gnr-figure-1", *SMOKE, str(tmp_path / "r"), "--json")
    facts = json.loads(run(*words).out)
    assert facts["finished"] == 2
    assert [claim["exhibit"] for claim in facts["claims"]] == ["gnr-figure-1"]
    page = (tmp_path / "r" / "negative.md").read_text()
    assert facts["claims"][0]["saw"] in page
    assert "| final | average |" in page
    assert (tmp_path / "r" / "figures" / "gnr-figure-1.svg").read_text().startswith("<?xml")


@pytest.mark.slow
def test_the_whole_paper_in_a_minute(run: Run, tmp_path: Path) -> None:
    facts = json.loads(run("reproduce", "all", *SMOKE, str(tmp_path), "--json").out)
    assert (facts["failed"], facts["left"]) == ([], 0)
    assert all(claim["holds"] is not None for claim in facts["claims"])
