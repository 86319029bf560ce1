import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from everlearn.files import FolderLock
from everlearn.studio.record_index import RecordIndex
from everlearn.studio.security import NotFound
from everlearn.studio.trash import Trash

from .browser import open_page
from .live_server import Studio


def test_the_list_is_filtered_and_limited(studio: Studio, records: Path) -> None:
    for number in range(30):
        shutil.copytree(records / "nearest", records / "group" / f"copy-{number:02}")
    (records / "group" / "copy-00" / "name.txt").write_text("A Name of <b>its</b> own\n")
    all_records = studio.get("/api/records").json()
    assert (all_records["n_records"], len(all_records["records"])) == (32, 32)
    part = studio.get("/api/records", query="copy group", limit=7).json()
    assert (part["n_matching"], len(part["records"])) == (30, 7)
    (named,) = studio.get("/api/records", query="NAME OF").json()["records"]
    assert (named["record"], named["name"]) == ("group/copy-00", "A Name of <b>its</b> own")
    assert studio.get("/api/records", query="dcl").json()["n_matching"] == 1
    assert studio.get("/api/records/curves", record="group/copy-03").status_code == 200


def test_summaries_follow_the_files(records: Path) -> None:
    index = RecordIndex(records)
    first = {each["record"]: each for each in index.summaries()}
    assert (first["dcl"]["n_tasks"], first["dcl"]["finished"]) == (2, True)
    log = records / "dcl" / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    second = {each["record"]: each for each in index.summaries()}
    assert second["dcl"]["finished"] is False
    assert second["nearest"] == first["nearest"]


def test_a_damaged_record_is_listed_with_its_error(studio: Studio, records: Path) -> None:
    (records / "broken").mkdir()
    (records / "broken" / "spec.json").write_text("{")
    summaries = {each["record"]: each for each in studio.get("/api/records").json()["records"]}
    assert "damaged" in summaries["broken"]["error"]
    assert studio.get("/api/memory", record="broken").status_code == 400


def names(studio: Studio, **query: object) -> list[str]:
    return [each["record"] for each in studio.get("/api/records", **query).json()["records"]]


def test_name_tags_and_note_are_written_and_searched(studio: Studio, records: Path) -> None:
    notes = {"name": "My run", "tags": ["paper", "Größe"], "note": "two\nlines"}
    edit = {"url": "/api/records/edit", "params": {"record": "dcl"}}
    assert studio.client.post(**edit, json=notes).status_code == 200
    (found,) = studio.get("/api/records", query="tag:größe lines").json()["records"]
    assert {key: found[key] for key in notes} == notes
    assert names(studio, query="tag:pap") == []
    assert (records / "dcl" / "name.txt").read_text() == "My run\n"
    for wrong in ({"tags": ["two words"]}, {"tags": [""]}, {"name": "a\nb"}, {"note": "x" * 10_001}):
        assert studio.client.post(**edit, json=wrong).status_code == 400
    assert studio.client.post(**edit, json={}).status_code == 200
    assert not (records / "dcl" / "name.txt").exists()
    assert not (records / "dcl" / "notes.json").exists()


def test_records_are_filtered_by_state_and_ordered(studio: Studio, records: Path) -> None:
    log = records / "nearest" / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    (records / "broken").mkdir()
    (records / "broken" / "spec.json").write_text("{")
    states = ("finished", "stopped", "damaged", "running")
    assert [names(studio, state=state) for state in states] == [["dcl"], ["nearest"], ["broken"], []]
    assert names(studio, order="name") == ["broken", "dcl", "nearest"]
    accuracy = {each["record"]: each["accuracy"] for each in studio.get("/api/records").json()["records"][1:]}
    by_accuracy = sorted(accuracy, key=lambda name: -accuracy[name])
    assert names(studio, order="accuracy") == [*by_accuracy, "broken"]


def test_a_deleted_record_is_restored_or_erased(studio: Studio, records: Path) -> None:
    shutil.copytree(records / "nearest", records / "group" / "copy")
    before = (records / "nearest" / "events.jsonl").read_bytes()
    for name in ("nearest", "group/copy"):
        assert studio.post("/api/records/delete", record=name).status_code == 200
    assert names(studio) == ["dcl"]
    items = {each["record"]: each["item"] for each in studio.get("/api/trash").json()["items"]}
    assert items.keys() == {"nearest", "group/copy"}
    for item in items.values():
        assert studio.get("/api/records/curves", record=f".trash/{item}").status_code == 404
        assert studio.post("/api/trash/restore", item=item).status_code == 200
    assert sorted(names(studio)) == ["dcl", "group/copy", "nearest"]
    assert (records / "nearest" / "events.jsonl").read_bytes() == before
    studio.post("/api/records/delete", record="nearest")
    shutil.copytree(records / "dcl", records / "nearest")
    (item,) = studio.get("/api/trash").json()["items"]
    assert studio.post("/api/trash/restore", item=item["item"]).status_code == 409
    assert studio.post("/api/trash/empty").json() == {"n_erased": 1}
    assert list((records / ".trash").iterdir()) == []
    with FolderLock(records / "dcl"):
        assert studio.post("/api/records/delete", record="dcl").status_code == 409


def test_records_of_another_folder_are_opened_and_closed(
    studio: Studio, records: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(records / "nearest", tmp_path / "other" / "far"))
    for folder in (other, other.parent):
        answer = studio.post("/api/records/open", folder=str(folder))
        assert answer.json() == {"records": ["1:far"]}
    assert studio.get("/api/records/curves", record="1:far").status_code == 200
    assert studio.post("/api/records/open", folder=str(records / "dcl")).json() == {"records": ["dcl"]}
    assert studio.post("/api/records/delete", record="1:far").status_code == 200
    assert other.is_dir()
    assert "1:far" not in names(studio)
    (tmp_path / "empty").mkdir()
    for wrong in (tmp_path / "empty", tmp_path / "missing", "\0"):
        assert studio.post("/api/records/open", folder=str(wrong)).status_code == 400


def test_a_record_of_another_folder_that_is_gone_leaves_the_list(
    studio: Studio, records: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(records / "nearest", tmp_path / "far"))
    assert studio.post("/api/records/open", folder=str(other)).status_code == 200
    assert "1:far" in names(studio)
    shutil.rmtree(other)
    assert "1:far" not in names(studio)


def test_records_are_edited_deleted_and_opened_on_the_page(
    browser: Browser, studio: Studio, records: Path, tmp_path: Path
) -> None:
    shutil.copytree(records / "nearest", tmp_path / "far")
    with open_page(browser, studio) as page:
        dialog, rows = page.get_by_role("dialog"), page.locator("#runs tbody tr")
        page.get_by_role("button", name="Edit dcl").click()
        dialog.get_by_label("Name").fill("My run")
        dialog.get_by_label("Tags").fill("two words")
        dialog.get_by_label("Note").fill("first try")
        dialog.get_by_role("button", name="Save").click()
        row = rows.filter(has_text="My run")
        expect(row).to_contain_text("first try")
        row.get_by_role("button", name="words").click()
        expect(page.get_by_label("Filter by")).to_have_value("tag:words")
        expect(rows).to_have_count(1)
        page.get_by_role("button", name="Edit dcl").click()
        dialog.get_by_role("button", name="Move to the trash").click()
        expect(page.get_by_role("button", name="Trash (1)")).to_be_focused()
        page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Restore dcl").click()
        expect(dialog).to_contain_text("The trash is empty.")
        dialog.get_by_role("button", name="Close").click()
        expect(row).to_be_visible()
        page.get_by_label("Filter by").fill("")
        page.get_by_role("button", name="Open another folder").click()
        dialog.get_by_label("Path").fill(str(tmp_path / "missing"))
        dialog.get_by_role("button", name="Open").click()
        expect(dialog.get_by_role("alert")).to_contain_text("no folder")
        dialog.get_by_label("Path").fill(str(tmp_path / "far"))
        dialog.get_by_role("button", name="Open").click()
        expect(page.get_by_label("Plot 1:far")).to_be_visible()
    assert json.loads((records / "dcl" / "notes.json").read_text())["tags"] == ["two", "words"]


def test_items_of_the_trash_are_restored_into_the_folder_of_records_only(tmp_path: Path) -> None:
    (tmp_path / "records" / ".trash" / "..%2Fother=0").mkdir(parents=True)
    trash = Trash(tmp_path / "records")
    assert trash.items() == []
    with pytest.raises(NotFound):
        trash.restore("..%2Fother=0")
    assert not (tmp_path / "other").exists()
