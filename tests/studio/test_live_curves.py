import itertools
import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.reports.run_results import RunResults
from everlearn.runs import Record
from everlearn.studio import live_curves
from everlearn.studio.live_curves import (
    N_COLUMNS,
    CurveReader,
    LiveCurves,
    SharedCurves,
    crop,
    downsample,
    read_curves,
)

from .live_server import Studio, train_step, write_long_curve

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300)


@given(VALUES, st.integers(1, 40))
def test_downsampling_keeps_the_extremes_of_each_column(values: list[float], n_columns: int) -> None:
    points = [(float(x), y) for x, y in enumerate(values)]
    kept = downsample(points, n_columns)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert kept == sorted(set(kept))
    assert set(kept) <= set(points)
    assert len(kept) <= 2 * n_columns + 2

    def column(x: float) -> int:
        return min(int(x / (max(1, len(points) - 1)) * n_columns), n_columns - 1)

    for index in range(n_columns):
        before = [y for x, y in points if column(x) == index]
        after = [y for x, y in kept if column(x) == index]
        if before and len(points) > 2 * n_columns:
            assert (min(after), max(after)) == (min(before), max(before))


def test_downsampling_of_equal_x_and_of_no_points() -> None:
    assert downsample([(1.0, float(y)) for y in range(10)], 2) == [(1.0, 0.0), (1.0, 9.0)]
    assert downsample([], 2) == []


@given(VALUES, st.floats(-10, 310), st.floats(0, 50))
def test_crop_keeps_one_point_on_each_side(values: list[float], low: float, width: float) -> None:
    points = [(float(x), y) for x, y in enumerate(values)]
    part = crop(points, low, low + width)
    inside = [point for point in points if low <= point[0] <= low + width]
    assert [point for point in part if low <= point[0] <= low + width] == inside
    assert len(part) <= len(inside) + 2
    assert all(a[0] + 1 == b[0] for a, b in itertools.pairwise(part))


@pytest.mark.parametrize("name", ["dcl", "nearest"])
def test_curves_equal_those_of_reports(trained_records: Path, name: str) -> None:
    record = Record(trained_records / name)
    curves, results = read_curves(record), RunResults.from_record(record)
    assert dict(curves["accuracy"]) == pytest.approx(dict(results.accuracy()))
    assert dict(curves["forgetting"]) == pytest.approx(dict(results.forgetting()))
    assert [y for _, y in curves["seconds"]] == pytest.approx([row["seconds"] for row in record.seconds()])
    assert [y for _, y in curves["bytes"]] == [e["weights_bytes"] + e["memory_bytes"] for e in results.ended]
    assert [x for x, _ in curves["loss"]] == sorted(x for x, _ in curves["loss"])


def test_forgetting_is_the_drop_from_the_best_accuracy(tmp_path: Path, trained_records: Path) -> None:
    folder = Path(shutil.copytree(trained_records / "dcl", tmp_path / "dcl"))
    n_correct_by_task = [[9], [10, 8], [5, 6, 10]]
    lines = [
        {
            "event": "scored",
            "task": task,
            "eval_tasks": [*range(task + 1)],
            "n_correct": n_correct,
            "n_batches": None,
        }
        for task, n_correct in enumerate(n_correct_by_task)
    ]
    text = "".join(json.dumps({**line, "n_images": [10] * len(line["n_correct"])}) + "\n" for line in lines)
    (folder / "scores.jsonl").write_text(text)
    assert read_curves(Record(folder))["forgetting"] == [(2, pytest.approx(-0.1)), (3, pytest.approx(0.35))]


def test_the_score_matrix(shared_studio: Studio, trained_records: Path) -> None:
    rows = shared_studio.get("/api/records/scores", record="dcl").json()["rows"]
    table = Record(trained_records / "dcl").scores
    assert rows[0][1] is None
    assert rows[1] == pytest.approx(list(table.rows())[-1].scores.tolist(), abs=1e-4)


def test_a_peak_among_25_000_points_is_kept(studio: Studio, records: Path) -> None:
    write_long_curve(records / "nearest", 25_000)
    assert len(read_curves(Record(records / "nearest"))["loss"]) == 25_000
    loss = studio.get("/api/records/curves", record="nearest").json()["loss"]
    assert len(loss) <= 2 * N_COLUMNS + 2
    ((peak, _),) = [point for point in loss if point[1] == 77.0]
    zoomed = {"record": "nearest", "low": peak - 0.01, "high": peak + 0.01}
    part = studio.get("/api/records/curves", **zoomed).json()["loss"]
    assert len(part) == pytest.approx(500, abs=5), "all points are there when zoomed in"
    assert studio.get("/api/records/curves", record="nearest", low=3, high=1).status_code == 400


def test_long_live_curves_are_sent_again_downsampled(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_curves, "MAX_HELD", 3 * N_COLUMNS)
    log, n_first = records / "nearest" / "events.jsonl", 3 * N_COLUMNS - 10
    log.write_bytes(b"".join(map(train_step, range(n_first))))
    record = Record(records / "nearest")
    shared = SharedCurves(record)
    early, late = LiveCurves(record, shared), LiveCurves(record, shared)
    restarts, points = early.update()
    assert not restarts
    assert len(points["loss"]) <= 2 * N_COLUMNS + 2
    with log.open("ab") as file:
        file.writelines(map(train_step, range(n_first, n_first + 20)))
    restarts, points = early.update()
    assert restarts
    assert N_COLUMNS < len(points["loss"]) <= 2 * N_COLUMNS + 2
    assert (points["loss"][0][1], points["loss"][-1][1]) == (1.0, 1 / (n_first + 20))
    assert late.update() == (False, points)
    with log.open("ab") as file:
        file.write(train_step(n_first + 20))
    for curves in (early, late):
        restarts, points = curves.update()
        assert (restarts, len(points["loss"])) == (False, 1)
        assert curves.update() == (False, {})


def test_a_slow_client_receives_every_new_point(records: Path) -> None:
    log, n_late = records / "nearest" / "events.jsonl", 2 * N_COLUMNS + 500
    log.write_bytes(train_step(0))
    curves = LiveCurves(Record(records / "nearest"))
    curves.update()
    with log.open("ab") as file:
        file.writelines(map(train_step, range(1, n_late + 1)))
    restarts, points = curves.update()
    assert (restarts, len(points["loss"])) == (False, n_late)


def test_curves_restart_when_a_log_is_truncated(records: Path) -> None:
    log = records / "nearest" / "events.jsonl"
    log.write_bytes(b"".join(map(train_step, range(5))))
    curves = LiveCurves(Record(records / "nearest"))
    assert len(curves.update()[1]["loss"]) == 5
    assert curves.update() == (False, {})
    log.write_bytes(train_step(0) + train_step(1)[:30])
    restarts, points = curves.update()
    assert restarts
    assert len(points["loss"]) == 1
    with log.open("ab") as file:
        file.write(train_step(1)[30:])
    assert len(curves.update()[1]["loss"]) == 1


@pytest.mark.parametrize("damaged", [b"{\n", b"1\n", b'{"event": "task-ended"}\n'])
def test_all_clients_see_the_error_of_a_damaged_log(damaged: bytes, records: Path) -> None:
    log, record = records / "nearest" / "events.jsonl", Record(records / "nearest")
    log.write_bytes(train_step(0) + damaged + train_step(1))
    shared = SharedCurves(record)
    clients = [LiveCurves(record, shared), LiveCurves(record, shared)]
    for _ in range(2):
        for client in clients:
            with pytest.raises(BadInput, match=r"nearest is damaged|events\.jsonl of this record is damaged"):
                client.update()
    log.write_bytes(train_step(0))
    assert [len(client.update()[1]["loss"]) for client in clients] == [1, 1]


def test_values_that_are_not_finite_are_left_out(records: Path) -> None:
    invalid = train_step(1).replace(b"0.5", b"NaN") + train_step(3).replace(b"0.25", b"1e999")
    (records / "nearest" / "events.jsonl").write_bytes(train_step(0) + invalid)
    assert [y for _, y in read_curves(Record(records / "nearest"))["loss"]] == [1.0]


def test_batches_that_a_learner_skipped_have_no_loss(records: Path) -> None:
    skipped = train_step(1).replace(b'"losses": {', b'"losses": {"skipped": 1.0, ')
    (records / "nearest" / "events.jsonl").write_bytes(train_step(0) + skipped + train_step(2))
    assert [y for _, y in read_curves(Record(records / "nearest"))["loss"]] == [1.0, 1 / 3]


def messages(studio: Studio, *records: str) -> Iterator[dict[str, Any]]:
    """Server-sent events about records."""
    with studio.client.stream("GET", "/api/records/live", params={"record": list(records)}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def test_live_updates_contain_every_event(studio: Studio, records: Path) -> None:
    log, n_events = records / "nearest" / "events.jsonl", 90
    log.write_bytes(b"")

    def write_events() -> None:
        with log.open("ab", buffering=0) as file:
            for batch in range(n_events):
                line = train_step(batch)
                file.write(line[:20])  # readers may see an incomplete line
                file.write(line[20:])
                time.sleep(1 / 60)

    writer = threading.Thread(target=write_events)
    writer.start()
    points: list[list[float]] = []
    for message in messages(studio, "nearest", "dcl"):
        if message["record"] == "nearest":
            points += message["points"].get("loss", [])
        if len(points) >= n_events:
            break
    writer.join()
    assert [y for _, y in points] == [1 / (batch + 1) for batch in range(n_events)]


def test_a_long_log_is_read_in_blocks_and_downsampled_in_between(
    tmp_path: Path, trained_records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(trained_records / "nearest", tmp_path / "nearest"))
    write_long_curve(folder, 5000)
    at_once = CurveReader(Record(folder)).read()["loss"]
    monkeypatch.setattr(live_curves, "BLOCK_BYTES", 1000)
    assert CurveReader(Record(folder)).read()["loss"] == at_once
    held: list[int] = []

    def noted(points: list[live_curves.Point], n_columns: int) -> list[live_curves.Point]:
        held.append(len(points))
        return downsample(points, n_columns)

    monkeypatch.setattr(live_curves, "downsample", noted)
    part = CurveReader(Record(folder)).read(400)["loss"]
    assert len(held) > 5
    assert {*held} == {401}
    assert set(part) <= set(at_once)
    assert (part[0], part[-1], max(y for _, y in part)) == (at_once[0], at_once[-1], 77.0)
