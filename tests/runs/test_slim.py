"""Slim records: fewer events, the same results and the same digest."""

from pathlib import Path

import pytest

import everlearn
from everlearn.errors import BadInput
from everlearn.reports import RunResults
from everlearn.runs import Record, RunSpec

ROOT = Path(__file__).parents[2]
SMALL = {"image_size": 16, "factor_values": 2, "classes_per_task": 3}


def test_slim_record_has_the_same_results_and_digest(tmp_path: Path) -> None:
    everlearn.run(
        "nearest",
        tasks=2,
        epochs=2,
        batch_size=1,
        stream_settings=SMALL,
        record=tmp_path / "r",
        progress=False,
    )
    record = Record(tmp_path / "r")
    digest, measures = record.digest, RunResults.from_record(record).measures()
    events = (record.folder / "events.jsonl").read_bytes()
    record.slim()
    slim = (record.folder / "events.jsonl").read_bytes()
    assert len(slim) < len(events)
    assert slim.count(b"train-step") == 2
    assert Record(tmp_path / "r").digest == digest
    assert str(RunResults.from_record(Record(tmp_path / "r")).measures()) == str(measures)
    record.slim()
    assert record.digest == digest
    (record.folder / "events.jsonl").write_bytes(slim + b"{}\n")
    assert record.digest != digest


def test_unfinished_record_cannot_be_slim(tmp_path: Path) -> None:
    RunSpec.make(learner="nearest").create_record(tmp_path / "r", None).release()
    with pytest.raises(BadInput, match="is not finished"):
        Record(tmp_path / "r").slim()


def test_committed_records_are_slim() -> None:
    paths = [path for path in (ROOT / "results").rglob("events.jsonl") if Record(path.parent).is_finished]
    assert paths
    full = [str(path) for path in paths if not (path.parent / "slim.json").is_file()]
    assert full == [], "run `python -m benchmarks.slim_results`"
