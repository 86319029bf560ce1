import re
from pathlib import Path

import pytest

from everlearn import reports

from .outcomes import Run, assert_refused, tree


def test_list_shows_all_records(run: Run, records: Path) -> None:
    assert [row["learner"] for row in run("list", "--json").data["records"]] == ["dcl", "nearest"]
    out = run("list", str(records)).out
    assert "nearest" in out
    assert "sprites/class-incremental-v1" in out


def test_list_of_an_empty_folder(run: Run, tmp_path: Path) -> None:
    assert "has no records yet" in run("list", str(tmp_path)).out


def test_reading_changes_nothing(run: Run, records: Path) -> None:
    before = tree(records)
    for words in (["list"], ["show", "records/dcl"], ["memory", "list", "records/dcl"]):
        assert run(*words).code == 0
    assert tree(records) == before


def test_show_time_says_where_it_went(run: Run, records: Path) -> None:
    data = run("show", "records/dcl", "--time", "--json").data
    assert list(data["phases"]) == ["render", "train", "evaluate", "save", "other"]
    assert data["seconds"] == pytest.approx(sum(data["phases"].values()))
    assert data["phases"]["train"] > 0
    assert data["phases"]["evaluate"] > 0
    assert re.search(r"train .*%", run("show", "records/dcl", "--time").out)


def test_show_time_of_a_record_without_phases(run: Run, records: Path) -> None:
    (records / "dcl" / "seconds.jsonl").write_text('{"task": 0, "seconds": 4.0}\n')  # of an older version
    outcome = run("show", "records/dcl", "--time")
    assert_refused(outcome)
    assert "has no times of phases" in outcome.err


def test_unfinished_run_is_shown_as_such(run: Run, records: Path) -> None:
    log = records / "nearest" / "events.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-2]))
    assert "1 of 2, not finished" in run("show", "records/nearest").out
    assert "1 of 2" in run("list").out


def test_compare_gives_tables_in_all_formats(run: Run, records: Path) -> None:
    outs = ("--csv", "table.csv", "--latex", "table.tex", "--markdown", "table.md")
    data = run("compare", "records", *outs, "--json").data
    assert {row["learner"] for row in data["rows"]} == {"dcl", "nearest"}
    assert len(Path("table.csv").read_text().splitlines()) == 3
    assert Path("table.tex").read_text().startswith(r"\begin{tabular}{lr")
    markdown = Path("table.md").read_text()
    assert markdown.startswith("| learner | tasks |")
    assert data["notes"]
    assert all(note in markdown for note in data["notes"])
    out = run("compare", "records/dcl", "records/nearest").out
    assert "dcl" in out
    assert "nearest" in out


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_plot_is_deterministic(run: Run, records: Path, suffix: str) -> None:
    for name in ("a", "b"):
        data = run("plot", "accuracy", "records", "-o", f"{name}{suffix}", "--json").data
        assert data == {"figure": "accuracy", "out": f"{name}{suffix}"}
    assert Path(f"a{suffix}").read_bytes() == Path(f"b{suffix}").read_bytes()


def test_dark_plot_differs(run: Run, records: Path) -> None:
    run("plot", "forgetting", "records")
    run("plot", "forgetting", "records", "--dark", "-o", "dark.svg")
    assert Path("everlearn-forgetting.svg").read_bytes() != Path("dark.svg").read_bytes()


def test_plot_help_lists_every_figure(run: Run) -> None:
    assert set(reports.captions()) <= set(re.findall(r"[a-z-]+", run("plot", "--help").out))


def test_report_is_one_page(run: Run, records: Path) -> None:
    data = run("report", "records", "-o", "page.html", "--json").data
    assert data == {"records": ["records/dcl", "records/nearest"], "out": "page.html"}
    assert Path("page.html").read_text().startswith("<!")


def test_protocol_results_can_be_plotted_until_the_record_changes(run: Run, records: Path) -> None:
    assert_refused(run("plot", "one-shot", "records"))
    assert run("evaluate", "one-shot", "records/dcl", "--n-new", "2", "--n-images", "10").code == 0
    assert run("plot", "one-shot", "records").code == 0
    assert run("memory", "forget", "records/dcl", "1").code == 0
    assert "everlearn evaluate one-shot" in run("plot", "one-shot", "records").err
