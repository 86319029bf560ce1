import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
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


def test_notes_explain_the_numbers(runs: dict[str, Record], tmp_path: Path) -> None:
    copy = Record(shutil.copytree(runs["er-0"].folder, tmp_path / "copy"))
    comparison = compare([runs["er-0"], runs["er-1"], copy])
    legend, *others = comparison.notes
    assert legend.startswith("±: standard deviation")
    assert any("test images, which alone leaves an uncertainty" in note for note in others)
    assert f"{copy.folder} is not counted" in others[-1]
    assert others[-1] in comparison.to_markdown()
    (row,) = comparison.rows
    assert 0 <= row["count_low"] <= row["correct"] / row["tested_images"] <= row["count_high"] <= 1


def test_differences_are_paired_by_seeds(runs: dict[str, Record]) -> None:
    comparison = compare([runs["er-0"], runs["er-1"], runs["naive"]])
    first, second = comparison.groups
    assert comparison.rows[0]["difference"] is None
    same = {run.record.spec["seed"]: run.measures()["average_accuracy"] for run in first.runs}
    (run,) = (run for run in second.runs if run.record.spec["seed"] in same)
    expected = run.measures()["average_accuracy"] - same[run.record.spec["seed"]]
    assert comparison.rows[1]["difference"] == pytest.approx(expected)
    assert comparison.notes[0].startswith("Δ first: accuracy minus that of the first row")


def test_every_seed_is_given_where_there_are_few(runs: dict[str, Record]) -> None:
    comparison = compare([runs["er-0"], runs["er-1"], runs["naive"]])
    (er,) = (row for row in comparison.rows if row["learner"] == "er")
    values = ", ".join(f"{value:.3f}" for value in er["accuracies"])
    assert f"er: accuracy of each seed {values}." in comparison.notes
    assert sum("accuracy of each seed" in note for note in comparison.notes) == 1
    assert values in comparison.to_latex()


def test_costs_are_columns(runs: dict[str, Record]) -> None:
    comparison = compare([runs["naive"]])
    (row,) = comparison.rows
    assert row["bytes"] == row["weights_bytes"] + row["memory_bytes"]
    assert row["answer_flops"] is None
    assert row["answer_ms"] > 0
    headings = [column.heading for column in comparison.brief_columns()]
    assert headings[-4:] == ["images", "FLOPs", "bytes", "answer"]


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


def test_a_name_with_brackets_is_shown_as_it_is(runs: dict[str, Record], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(runs["naive"].folder, tmp_path / "copy"))
    (copy / "name.txt").write_text("a [/b] c\n")
    assert "a [/b] c" in repr(compare([Record(copy)]))


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
