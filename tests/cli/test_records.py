import json
from pathlib import Path

from .outcomes import Run, tree


def test_list_shows_all_records(run: Run, records: Path) -> None:
    facts = json.loads(run("list", "--json").out)["records"]
    assert [fact["learner"] for fact in facts] == ["dcl", "nearest"]
    out = run("list", str(records)).out
    assert "nearest" in out
    assert "sprites/class-incremental-v1" in out


def test_an_empty_folder_says_so(run: Run, tmp_path: Path) -> None:
    assert "holds no records yet" in run("list", str(tmp_path)).out


def test_looking_changes_nothing(run: Run, records: Path) -> None:
    before = tree(records)
    for words in (["list"], ["show", "records/dcl"], ["memory", "list", "records/dcl"]):
        assert run(*words).code == 0
    assert tree(records) == before


def test_a_run_that_is_not_finished_is_shown_as_such(run: Run, records: Path) -> None:
    log = records / "nearest" / "events.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-2]))
    out = run("show", "records/nearest").out
    assert "1 of 2, not finished" in out
    assert "1 of 2" in run("list").out
