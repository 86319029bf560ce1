import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.evaluation import average_accuracy
from everlearn.runs import Record, list_records, record

from .conftest import BreakOff, tiny


def test_a_record_tells_its_story(tmp_path: Path) -> None:
    *_, _last = record(tiny(), tmp_path / "run")
    found = Record(tmp_path / "run")
    assert repr(found) == "<record run: nearest, 4 tasks>"
    assert (found.is_finished, found.n_tasks_played, found.is_exact) == (True, 4, True)
    assert found.spec == tiny().to_mapping()
    assert found.spec_hash == tiny().hash
    assert [row["task"] for row in found.seconds()] == [0, 1, 2, 3]
    assert [event["event"] for event in found.events()][-1] == "run-ended"
    table = found.score_table()
    assert table.n_tasks == 4
    assert 0.0 <= average_accuracy(table) <= 1.0
    final = list(found.scores())[-1]
    assert np.asarray(table)[3, final["tasks"]].tolist() == [
        c / t for c, t in zip(final["correct"], final["total"], strict=True)
    ]


def test_a_run_under_way_can_be_read(break_off: BreakOff) -> None:
    found = Record(break_off(after=1))
    assert (found.is_finished, found.n_tasks_played) == (False, 2)


def test_a_record_that_has_not_begun_can_be_read(tmp_path: Path) -> None:
    record(tiny(), tmp_path / "run")
    found = Record(tmp_path / "run")
    assert (found.is_finished, found.n_tasks_played, found.machine, len(found.score_table())) == (
        False,
        0,
        {},
        0,
    )
    assert len(found.digest) == 32


def test_reading_needs_no_torch(break_off: BreakOff) -> None:
    code = (
        "import sys; from everlearn import runs\n"
        f"r = runs.Record({str(break_off())!r})\n"
        "assert r.digest and len(r.score_table())\n"
        "print(r.checkpoints.numbers(), len(runs.list_records(r.folder.parent)), 'torch' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout == "[2, 3] 1 False\n"


def test_looking_at_the_end_reads_only_the_end(break_off: BreakOff, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = break_off()
    log = folder / "events.jsonl"
    log.write_bytes(b"damaged\n" * 1_000_000 + log.read_bytes())
    monkeypatch.setattr(files, "PIECE", 1 << 10)
    assert Record(folder).n_tasks_played == 3


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff", '{"format": 9}'])
def test_a_damaged_spec_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "spec.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInput, match=r"spec.json|has format 9"):
        _ = Record(tmp_path).spec


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a record"):
        Record(tmp_path)


def test_records_are_listed_by_name(break_off: BreakOff, tmp_path: Path) -> None:
    break_off(name="b")
    break_off(name="a")
    (tmp_path / "else").mkdir()
    assert [found.folder.name for found in list_records(tmp_path)] == ["a", "b"]
    with pytest.raises(BadInput, match="there is no folder"):
        list_records(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["Größe: 2/3 ☂", "[bold]x", "x" * 200])
def test_a_record_keeps_the_name_that_people_gave_it(tmp_path: Path, name: str, digest: str) -> None:
    *_, _last = record(tiny(), tmp_path / "run", name=name)
    assert Record(tmp_path / "run").name == name
    assert Record(tmp_path / "run").digest == digest, "a name decides nothing"


def test_a_record_without_a_name_has_none(tmp_path: Path) -> None:
    record(tiny(), tmp_path / "run")
    assert Record(tmp_path / "run").name == ""


def test_a_name_that_cannot_be_shown_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no name for a run"):
        record(tiny(), tmp_path / "run", name="a\nb")
    assert list(tmp_path.iterdir()) == []


def test_a_name_left_by_a_crash_is_no_record_and_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "name.txt").write_text("left behind\n")
    with pytest.raises(BadInput, match="is not a record"):
        Record(tmp_path / "run")
    record(tiny(), tmp_path / "run", name="mine")
    assert Record(tmp_path / "run").name == "mine"
