import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.evaluation import mean_interval
from everlearn.reports.groups import group
from everlearn.reports.run_results import RunResults
from everlearn.runs import Record

from .conftest import recorded


def test_seeds_become_one_group(runs: dict[str, Record]) -> None:
    (only,) = group([runs["er-0"], runs["er-1"]])
    assert only.name == "er"
    assert len(only.runs) == 2
    each = [RunResults.from_record(runs[name]).measures()["average_accuracy"] for name in ("er-0", "er-1")]
    expected = mean_interval(each)
    assert only.intervals["average_accuracy"] == replace(expected, low=max(expected.low, 0.0))


def test_a_setting_that_an_older_record_does_not_have_is_one_without_a_value(
    runs: dict[str, Record], tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(runs["er-1"].folder, older)
    spec = json.loads((older / "spec.json").read_text())
    without = {name: value for name, value in spec["evaluation"].items() if value is not None}
    assert without != spec["evaluation"]
    (older / "spec.json").write_text(json.dumps({**spec, "evaluation": without}))
    (only,) = group([runs["er-0"], Record(older)])
    assert len(only.runs) == 2


def test_names_contain_differing_settings(runs: dict[str, Record]) -> None:
    names = {each.name for each in group([runs["er-0"], runs["er-small"]])}
    assert names == {"er, memory_size 2000", "er, memory_size 4"}
    assert {each.name for each in group([runs["naive"], runs["nearest"]])} == {"naive", "nearest"}


def test_differing_run_settings_are_named_for_all_groups(runs: dict[str, Record]) -> None:
    names = {each.name for each in group([runs["er-0"], runs["naive"]])}
    assert names == {"er, every_n_batches 1", "naive, every_n_batches 0"}


def test_short_names_are_minimal(runs: dict[str, Record]) -> None:
    groups = group([runs["er-0"], runs["er-small"], runs["naive"]])
    assert {each.short for each in groups} == {"er, memory_size 2000", "er, memory_size 4", "naive"}


def test_names_of_runs_are_used(runs: dict[str, Record], tmp_path: Path) -> None:
    called = recorded(tmp_path / "a", "er", n_tasks=1, name="my first <run>")
    groups = {each.name: each.short for each in group([called, runs["naive"]])}
    assert "my first <run>" in groups.values()
    assert any(name.startswith("my first <run>: er, ") for name in groups)


def test_edited_runs_are_groups_of_their_own(runs: dict[str, Record], tmp_path: Path) -> None:
    copy = Record(shutil.copytree(runs["dcl"].folder, tmp_path / "copy"))
    edit = {
        "event": "memory-edited",
        "n_tasks": 3,
        "action": "forget",
        "label": 1,
        "n_images": 0,
        "memory_bytes": 9,
    }
    with (copy.folder / "events.jsonl").open("a") as log:
        log.write(json.dumps(edit) + "\n")
    groups = group([runs["dcl"], copy])
    assert sorted(each.short for each in groups) == ["dcl, edits 0", "dcl, edits 1"]


def test_groups_are_sorted_by_accuracy(runs: dict[str, Record]) -> None:
    accuracies = [each.intervals["average_accuracy"].mean for each in group(list(runs.values()))]
    assert accuracies == sorted(accuracies, reverse=True)


def test_copies_of_a_run_count_once(runs: dict[str, Record], tmp_path: Path) -> None:
    copy = Record(shutil.copytree(runs["er-0"].folder, tmp_path / "copy"))
    (only,) = group([runs["er-0"], copy])
    assert len(only.runs) == 1


def test_unfinished_runs_are_groups_of_their_own(runs: dict[str, Record], unfinished: Record) -> None:
    groups = group([runs["nearest"], unfinished])
    assert sorted(each.name for each in groups) == ["nearest, tasks 1", "nearest, tasks 3"]


def test_no_records() -> None:
    with pytest.raises(BadInput, match="at least one record"):
        group([])
