import json
from pathlib import Path

import pytest

from everlearn.papers import PAPERS

from .outcomes import Run, assert_refused, tree

SMOKE = ("--scale", "smoke", "--records")


@pytest.mark.parametrize(
    ("arguments", "message"),
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
def test_invalid_arguments_are_refused(
    run: Run, arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    outcome = run("reproduce", *arguments)
    assert_refused(outcome)
    assert message in outcome.err
    assert not list(tmp_path.iterdir())


def test_help_lists_every_experiment(run: Run) -> None:
    text = run("reproduce", "--help").out
    in_range = {f"figure-{number}" for number in range(4, 10)}
    names = {experiment.name for paper in PAPERS for experiment in paper.experiments} - in_range
    assert [name for name in sorted(names) if name not in text] == []


def test_dry_run_lists_runs_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    facts = json.loads(run("reproduce", "figure-7", *SMOKE, str(tmp_path / "r"), "--dry-run", "--json").out)
    assert [row["learner"] for row in facts["runs"]] == ["dcl", "contrastive", "naive"]
    assert {row["state"] for row in facts["runs"]} == {"missing"}
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_experiment_is_run_once_drawn_and_checked(run: Run, tmp_path: Path) -> None:
    command = ("reproduce", "figure-7", *SMOKE, str(tmp_path / "r"), "--out", str(tmp_path / "o"), "--json")
    facts = json.loads(run(*command).out)
    assert facts["finished"] == 3
    assert [claim["experiment"] for claim in facts["claims"]] == ["figure-7"] * 3
    assert {claim["verdict"] for claim in facts["claims"]} <= {"yes", "no", "not comparable"}
    assert (tmp_path / "o" / "figures" / "figure-7.svg").read_text().startswith("<?xml")
    page = (tmp_path / "o" / "results.md").read_text()
    for claim in facts["claims"]:
        assert claim["observed"] in page
    before = tree(tmp_path / "r")
    assert json.loads(run(*command).out)["claims"] == facts["claims"]
    assert tree(tmp_path / "r") == before


def test_first_tasks_have_separate_records(run: Run, tmp_path: Path) -> None:
    command = ("reproduce", "figure-7", *SMOKE, str(tmp_path), "--first", "2", "--dry-run", "--json")
    rows = json.loads(run(*command).out)["runs"]
    assert {Path(row["record"]).name for row in rows} == {
        f"{name}-first-2-seed-0" for name in ("dcl", "contrastive", "naive")
    }


@pytest.mark.slow
def test_each_paper_has_its_own_page(run: Run, tmp_path: Path) -> None:
    facts = json.loads(run("reproduce", "gnr-figure-1", *SMOKE, str(tmp_path / "r"), "--json").out)
    assert facts["finished"] == 2
    assert [claim["experiment"] for claim in facts["claims"]] == ["gnr-figure-1"]
    page = (tmp_path / "r" / "gnr.md").read_text()
    assert facts["claims"][0]["observed"] in page
    assert "| final | average |" in page
    assert (tmp_path / "r" / "figures" / "gnr-figure-1.svg").read_text().startswith("<?xml")


@pytest.mark.slow
def test_all_experiments_run_at_smoke_scale(run: Run, tmp_path: Path) -> None:
    facts = json.loads(run("reproduce", "all", *SMOKE, str(tmp_path), "--json").out)
    assert (facts["failed"], facts["left"]) == ([], 0)
    assert all(claim["verdict"] != "not run yet" for claim in facts["claims"])
