import csv
import io
import json
import subprocess
import sys

from rich.console import Console

from everlearn.reports import compare
from everlearn.runs import Record

KEYS = {"learner", "supervision", "stream", "fingerprints", "tasks", "finished", "seeds", "records"}
MEASURES = {"average_accuracy", "forgetting", "seconds", "images", "flops", "weights_bytes", "memory_bytes"}


def _printed(records: list[Record], width: int = 120) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(compare(records).table())
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_rows_are_complete_json(runs: dict[str, Record]) -> None:
    rows = compare([runs["er-0"], runs["er-1"], runs["dcl"]]).rows
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    (er,) = (row for row in rows if row["learner"] == "er")
    assert set(er) >= KEYS | MEASURES
    assert er["seeds"] == [0, 1]
    assert er["tasks"] == 3
    assert er["finished"] is True
    assert er["supervision"] == "labelled images, past images"
    assert len(er["fingerprints"]) == 1
    low, mean, high = (er[f"average_accuracy{end}"] for end in ("_low", "", "_high"))
    assert low <= mean <= high


def test_single_seed_has_no_interval(runs: dict[str, Record]) -> None:
    (row,) = compare([runs["naive"]]).rows
    assert row["average_accuracy"] is not None
    assert row["average_accuracy_low"] is None
    assert row["worst_case_accuracy"] is None


def test_csv_contains_the_rows(runs: dict[str, Record]) -> None:
    comparison = compare([runs["naive"], runs["er-0"], runs["er-1"]])
    read = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [row["learner"] for row in read] == [row["learner"] for row in comparison.rows]
    for text, row in zip(read, comparison.rows, strict=True):
        assert float(text["average_accuracy"]) == row["average_accuracy"]
        assert text["seeds"].split() == [str(seed) for seed in row["seeds"]]
        assert (text["worst_case_accuracy"] == "") == (row["worst_case_accuracy"] is None)


def test_table_contains_the_rows(runs: dict[str, Record]) -> None:
    text = _printed([runs["er-0"], runs["er-1"], runs["er-small"]])
    for row in compare([runs["er-0"], runs["er-1"], runs["er-small"]]).rows:
        assert row["name"] in text
        assert f"{row['average_accuracy']:.3f}" in text
    assert "±" in text


def test_headings_are_not_cut_in_a_narrow_terminal(runs: dict[str, Record]) -> None:
    text = _printed(list(runs.values()), width=80)
    assert "…" not in text.splitlines()[1]


def test_unfinished_run(unfinished: Record) -> None:
    assert "1 of 3" in _printed([unfinished])
    (row,) = compare([unfinished]).rows
    assert row["finished"] is False
    assert row["forgetting"] is None


def test_records_are_compared_without_torch_and_matplotlib(runs: dict[str, Record]) -> None:
    program = (
        "import sys; from everlearn.reports import compare, html; from everlearn.runs import Record; "
        f"compare([Record({str(runs['naive'].folder)!r})]).rows; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
