import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.evaluation import mean_interval
from everlearn.reports.groups import _line, group
from everlearn.reports.run_results import Findings
from everlearn.runs import Record

from .conftest import played


def test_seeds_become_one_group(runs: dict[str, Record]) -> None:
    (only,) = group([runs["er-0"], runs["er-1"]])
    assert only.name == "er"
    assert len(only.runs) == 2
    each = [Findings.of(runs[name]).measures()["average_accuracy"] for name in ("er-0", "er-1")]
    assert only.intervals["average_accuracy"] == mean_interval(each)


def test_names_tell_apart_what_differs(runs: dict[str, Record]) -> None:
    names = {each.name for each in group([runs["er-0"], runs["er-small"]])}
    assert names == {"er, memory_size 2000", "er, memory_size 4"}
    assert {each.name for each in group([runs["naive"], runs["nearest"]])} == {"naive", "nearest"}


def test_a_difference_outside_the_learner_is_told_of_all(runs: dict[str, Record]) -> None:
    names = {each.name for each in group([runs["er-0"], runs["naive"]])}
    assert names == {"er, inside_every 1", "naive, inside_every 0"}


def test_figures_say_no_more_than_is_needed(runs: dict[str, Record]) -> None:
    groups = group([runs["er-0"], runs["er-small"], runs["naive"]])
    assert {each.short for each in groups} == {"er, memory_size 2000", "er, memory_size 4", "naive"}


def test_a_name_that_people_gave_is_used(runs: dict[str, Record], tmp_path: Path) -> None:
    called = played(tmp_path / "a", "er", n_tasks=1, name="my first <run>")
    groups = {each.name: each.short for each in group([called, runs["naive"]])}
    assert "my first <run>" in groups.values()
    assert any(name.startswith("my first <run>: er, ") for name in groups)


def test_an_edited_run_is_no_second_seed_and_no_copy(runs: dict[str, Record], tmp_path: Path) -> None:
    copy = Record(shutil.copytree(runs["dcl"].folder, tmp_path / "copy"))
    edit = {
        "event": "memory-edited",
        "n_tasks": 3,
        "act": "forget",
        "label": 1,
        "n_images": 0,
        "memory_bytes": 9,
    }
    with (copy.folder / "events.jsonl").open("a") as log:
        log.write(json.dumps(edit) + "\n")
    groups = group([runs["dcl"], copy])
    assert sorted(each.short for each in groups) == ["dcl, edits 0", "dcl, edits 1"]


def test_the_best_comes_first(runs: dict[str, Record]) -> None:
    accuracies = [each.intervals["average_accuracy"].mean for each in group(list(runs.values()))]
    assert accuracies == sorted(accuracies, reverse=True)


def test_a_copy_of_a_run_is_no_second_seed(runs: dict[str, Record], tmp_path: Path) -> None:
    copy = Record(shutil.copytree(runs["er-0"].folder, tmp_path / "copy"))
    (only,) = group([runs["er-0"], copy])
    assert len(only.runs) == 1


def test_an_unfinished_run_is_not_averaged_with_finished_ones(
    runs: dict[str, Record], unfinished: Record
) -> None:
    groups = group([runs["nearest"], unfinished])
    assert sorted(each.name for each in groups) == ["nearest, tasks 1", "nearest, tasks 3"]


def test_nothing_given() -> None:
    with pytest.raises(BadInput, match="at least one record"):
        group([])


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5))
def test_bands_are_intervals_at_every_point(curves: list[list[float]]) -> None:
    line = _line([dict(enumerate(curve)) for curve in curves])
    for k in range(4):
        expected = mean_interval([curve[k] for curve in curves])
        assert line.mean[k] == pytest.approx(expected.mean, abs=1e-12)
        assert line.low[k] == pytest.approx(expected.low, abs=1e-9, nan_ok=True)
        assert line.high[k] == pytest.approx(expected.high, abs=1e-9, nan_ok=True)


def test_what_one_seed_did_not_measure_is_left_out() -> None:
    line = _line([{1: 0.5, 2: 0.25}, {2: 0.75, 3: math.nan}])
    assert line.x.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(line.mean, [0.5, 0.5, math.nan])
    assert np.isnan(line.low).tolist() == [True, False, True]
