"""The list of records, their curves, and what they tell while they play."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from everlearn.reports.run_results import Findings
from everlearn.runs import Record
from everlearn.studio.live_curves import Follower, curves
from everlearn.studio.record_index import Shelf

from .visits import Studio

EVENT = {"event": "learned", "task": 0, "epoch": 0, "n_batches": 10_000, "n_images": 1}


def learned(batch: int) -> bytes:
    return json.dumps({**EVENT, "batch": batch, "losses": {"loss": 1 / (batch + 1)}}).encode() + b"\n"


def messages(studio: Studio, *records: str) -> Iterator[dict[str, Any]]:
    """What the server tells of some records, message by message."""
    with studio.client.stream("GET", "/api/records/live", params={"record": list(records)}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize("name", ["dcl", "nearest"])
def test_curves_are_those_of_the_reports(kept: Path, name: str) -> None:
    points, found = curves(Record(kept / name)), Findings.of(Record(kept / name))
    assert dict(points["accuracy"]) == pytest.approx(dict(found.accuracy()))
    assert dict(points["forgetting"]) == pytest.approx(dict(found.forgetting()))
    assert [y for _, y in points["seconds"]] == pytest.approx(
        [row["seconds"] for row in found.record.seconds()]
    )
    assert [y for _, y in points["bytes"]] == [e["weights_bytes"] + e["memory_bytes"] for e in found.ended]
    assert [x for x, _ in points["loss"]] == sorted(x for x, _ in points["loss"])


def test_forgetting_is_measured_from_the_best(tmp_path: Path, kept: Path) -> None:
    """0.9, then 1.0, then 0.5 on the first task: half of it is forgotten, counted from the best."""
    folder = Path(shutil.copytree(kept / "dcl", tmp_path / "made"))
    rows = [(0, [0], [9]), (1, [0, 1], [10, 8]), (2, [0, 1, 2], [5, 6, 10])]
    lines = [
        json.dumps(
            {
                "event": "scored",
                "task": i,
                "tasks": tasks,
                "correct": right,
                "total": [10] * len(tasks),
                "batch": None,
            }
        )
        for i, tasks, right in rows
    ]
    (folder / "scores.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert curves(Record(folder))["forgetting"] == [(2, pytest.approx(-0.1)), (3, pytest.approx(0.35))]


def test_the_list_is_filtered_and_cut(studio: Studio, records: Path) -> None:
    for number in range(30):
        shutil.copytree(records / "nearest", records / "group" / f"copy-{number:02}")
    (records / "group" / "copy-00" / "name.txt").write_text("A Name of <b>its</b> own\n")
    everything = studio.get("/api/records").json()
    assert (everything["total"], len(everything["records"])) == (32, 32)
    some = studio.get("/api/records", words="copy group", limit=7).json()
    assert (some["fitting"], len(some["records"])) == (30, 7)
    (named,) = studio.get("/api/records", words="NAME OF").json()["records"]
    assert (named["record"], named["name"]) == ("group/copy-00", "A Name of <b>its</b> own")
    assert studio.get("/api/records", words="dcl").json()["fitting"] == 1
    assert studio.get("/api/records/curves", record="group/copy-03").status_code == 200


def test_what_is_known_is_read_again_only_when_it_changed(records: Path) -> None:
    shelf = Shelf(records)
    first = {facts["record"]: facts for facts in shelf.facts()}
    assert first["dcl"]["tasks"] == 2
    log = records / "dcl" / "events.jsonl"
    log.write_bytes(b"".join(line + b"\n" for line in log.read_bytes().splitlines()[:-1]))
    assert shelf.glance("dcl")["finished"] is False
    assert shelf.glance("nearest") == first["nearest"]


def test_a_damaged_record_is_listed_as_such(studio: Studio, records: Path) -> None:
    (records / "broken").mkdir()
    (records / "broken" / "spec.json").write_text("{")
    (facts,) = [each for each in studio.get("/api/records").json()["records"] if each["record"] == "broken"]
    assert "damaged" in facts["error"]
    assert studio.get("/api/records/summary", record="broken").status_code == 400


def test_the_live_view_drops_nothing_at_sixty_events_a_second(studio: Studio, records: Path) -> None:
    log, n_events = records / "nearest" / "events.jsonl", 180
    log.write_bytes(b"")

    def play() -> None:
        with log.open("ab", buffering=0) as file:
            for batch in range(n_events):
                line = learned(batch)
                file.write(line[:20])  # a writer may be caught in the middle of a line
                file.write(line[20:])
                time.sleep(1 / 60)

    player = threading.Thread(target=play)
    player.start()
    points: list[list[float]] = []
    for message in messages(studio, "nearest", "dcl"):
        if message["record"] == "nearest":
            points += message["points"].get("loss", [])
        if len(points) >= n_events:
            break
    player.join()
    assert [y for _, y in points] == [1 / (batch + 1) for batch in range(n_events)]


def test_a_record_that_went_back_is_told_anew(records: Path) -> None:
    log = records / "nearest" / "events.jsonl"
    log.write_bytes(b"".join(map(learned, range(5))))
    follower = Follower(Record(records / "nearest"))
    assert len(follower.news()[1]["loss"]) == 5
    assert follower.news() == (False, {})
    log.write_bytes(learned(0) + learned(1)[:30])
    is_new, points = follower.news()
    assert is_new
    assert len(points["loss"]) == 1
    with log.open("ab") as file:
        file.write(learned(1)[30:])
    assert len(follower.news()[1]["loss"]) == 1


def test_an_export_is_harmless_in_a_spreadsheet(studio: Studio, records: Path) -> None:
    (records / "dcl" / "name.txt").write_text('=HYPERLINK("http://evil.example")\n')
    (records / "dcl").rename(records / "@cmd")
    lines = studio.get("/api/exports/curves.csv", record="@cmd").text.splitlines()
    assert lines[0] == "record,name,curve,tasks,value"
    assert lines[1].startswith("'@cmd,\"'=HYPERLINK")
    assert len(lines) > 8


def test_the_score_table(studio: Studio, kept: Path) -> None:
    rows = studio.get("/api/records/scores", record="dcl").json()["rows"]
    table = Record(kept / "dcl").score_table()
    assert rows[0][1] is None
    assert rows[1] == pytest.approx(list(table.rows())[-1].scores.tolist(), abs=1e-4)


def test_two_hundred_requests_at_sixteen_at_a_time(studio: Studio) -> None:
    paths = ["/", "/api/records", "/api/sprites/image.png?image_size=32", "/api/records/curves?record=dcl"]
    paths += ["/api/memory?record=dcl", "/api/records/summary?record=nearest", "/api/runs/learner?name=er"]
    paths += ["/static/app.js"]
    asked = [paths[number % len(paths)] for number in range(200)]
    limits = httpx.Limits(max_connections=16)
    headers = {"x-everlearn-token": studio.token}
    base = str(studio.client.base_url)
    with (
        httpx.Client(base_url=base, headers=headers, limits=limits, timeout=60) as client,
        ThreadPoolExecutor(16) as pool,
    ):
        answers = list(pool.map(client.get, asked))
    assert [answer.status_code for answer in answers] == [200] * 200
