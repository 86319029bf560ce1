import shutil
from pathlib import Path

from everlearn.studio.record_index import RecordIndex

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
