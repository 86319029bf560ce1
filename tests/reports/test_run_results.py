import json
import math
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation import ScoreTable, average_accuracy, forgetting
from everlearn.evaluation.scores import mean_table
from everlearn.reports.run_results import RunResults
from everlearn.runs import Record

from .conftest import recorded


def test_measures_of_a_record(runs: dict[str, Record]) -> None:
    found = RunResults.from_record(runs["naive"])
    measures = found.measures()
    table = runs["naive"].scores
    ended = [event for event in runs["naive"].events() if event["event"] == "task-ended"]
    assert found.n_tasks == len(ended) == 3
    assert measures["average_accuracy"] == average_accuracy(table)
    assert measures["forgetting"] == forgetting(table)
    assert measures["backward_transfer"] <= 0
    assert measures["images"] == 3 * 3 * 8
    assert measures["flops"] == ended[-1]["flops"] > 0
    assert measures["weights_bytes"] == ended[-1]["weights_bytes"] > 0
    assert measures["memory_bytes"] == 0
    assert measures["seconds"] == pytest.approx(sum(row["seconds"] for row in runs["naive"].seconds()))
    assert math.isnan(measures["worst_case_accuracy"]), "not evaluated within tasks"


def test_forward_transfer_to_new_classes_is_undefined(runs: dict[str, Record]) -> None:
    found = RunResults.from_record(runs["er-0"])
    assert (found.before, found.chance) == (dict.fromkeys(range(3), 0.0), {})
    assert math.isnan(found.measures()["forward_transfer"]), "undefined, not 0"


def test_forward_transfer_is_above_chance(tmp_path: Path) -> None:
    same_labels = recorded(tmp_path / "run", "nearest", **{"stream.scenario": "domain-incremental"})
    started = [event for event in same_labels.events() if event["event"] == "task-started"]
    assert [event["labels"] for event in started] == [[0, 1, 2]] * 3
    expected = np.mean([event["zero_shot_accuracy"] - event["chance_accuracy"] for event in started[1:]])
    assert RunResults.from_record(same_labels).measures()["forward_transfer"] == pytest.approx(expected)
    assert [event["chance_accuracy"] for event in started[1:]] == pytest.approx([1 / 3] * 2), (
        "three equally frequent labels"
    )
    assert "chance_accuracy" not in started[0], "undefined before training"


def test_forward_transfer_needs_recorded_chance(tmp_path: Path) -> None:
    old = recorded(tmp_path / "run", "nearest", **{"stream.scenario": "domain-incremental"})
    events = [{k: v for k, v in event.items() if k != "chance_accuracy"} for event in old.events()]
    (tmp_path / "run" / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert math.isnan(RunResults.from_record(old).measures()["forward_transfer"])


def test_worst_case_is_at_most_the_final_accuracy(runs: dict[str, Record]) -> None:
    measures = RunResults.from_record(runs["er-0"]).measures()
    assert 0 <= measures["worst_case_accuracy"] <= measures["average_accuracy"] + 1e-9


def test_forgetting_curve(runs: dict[str, Record]) -> None:
    generator = np.random.default_rng(3)
    scores = generator.random((6, 6))
    scores[3] = np.nan
    scores[:, 2][[0, 1, 4]] = np.nan
    found = RunResults.from_record(runs["naive"])
    found.__dict__["scores"] = ScoreTable.from_array(scores)
    curve = found.forgetting()
    for k in range(6):
        expected = forgetting(scores[: k + 1, : k + 1]) if k != 3 else math.nan
        assert curve.get(k + 1, math.nan) == pytest.approx(expected, nan_ok=True)


def test_curves_contain_defined_points_only(runs: dict[str, Record]) -> None:
    found = RunResults.from_record(runs["er-0"])
    assert list(found.accuracy()) == [1, 2, 3]
    assert list(found.forgetting()) == [2, 3]


def test_accuracy_within_tasks(runs: dict[str, Record]) -> None:
    found = RunResults.from_record(runs["er-0"])
    now = {x: y for x, y in found.within_tasks(earlier=False).items() if not math.isnan(y)}
    # 24 images in batches of 8: three evaluations within each task, the last replaced by the one after it.
    assert list(now) == pytest.approx([task + batch / 3 for task in range(3) for batch in (1, 2, 3)])
    before = found.within_tasks(earlier=True)
    assert math.isnan(before[1.0])
    assert before[3.0] == pytest.approx(np.mean(np.asarray(found.scores)[2, :2]))
    assert now[3.0] == np.asarray(found.scores)[2, 2]


def test_learning_curve_area(tmp_path: Path) -> None:
    """Computed from the log: before the first batch, and after each of ten."""
    settings = {"evaluation.every_n_batches": 1, "batch_size": 2, "n_tasks": 2, "learner.width": 4}
    run = recorded(tmp_path / "run", "dcl", **settings)
    curves = {0: [0.0], 1: [0.0]}
    for row in run.evaluations():
        if row["n_batches"] is not None and row["n_batches"] <= 10:
            place = row["eval_tasks"].index(row["task"])
            curves[row["task"]].append(row["n_correct"][place] / row["n_images"][place])
    assert [len(curve) for curve in curves.values()] == [11, 11]
    assert RunResults.from_record(run).measures()["learning_curve_area"] == pytest.approx(
        np.mean(list(curves.values()))
    )
    sparse = recorded(tmp_path / "sparse", "nearest", **{"evaluation.every_n_batches": 2, "batch_size": 2})
    assert math.isnan(RunResults.from_record(sparse).measures()["learning_curve_area"])


def test_factor_errors(runs: dict[str, Record]) -> None:
    assert RunResults.from_record(runs["naive"]).factors == []
    found = RunResults.from_record(runs["dcl"])
    assert set(found.factors) == {"scale", "angle", "x", "y", "position"}
    assert list(found.factor_error("angle")) == [1, 2, 3]
    assert all(0 < error < math.pi for error in found.factor_error("angle").values())


def test_unfinished_run(unfinished: Record) -> None:
    found = RunResults.from_record(unfinished)
    assert found.n_tasks == 1
    assert math.isnan(found.measures()["forgetting"])
    assert list(found.accuracy()) == [1]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("scores.jsonl", {"event": "scored"}),
        ("scores.jsonl", {"task": 0, "eval_tasks": [0], "n_correct": ["x"], "n_images": [1]}),
        ("events.jsonl", {"task": 0}),
        ("seconds.jsonl", {"task": 0}),
        ("spec.json", {"format": 1}),
    ],
)
def test_an_incomplete_record_is_refused(
    runs: dict[str, Record], tmp_path: Path, file: str, line: dict[str, object]
) -> None:
    copy = Path(shutil.copytree(runs["naive"].folder, tmp_path / "copy"))
    (copy / file).write_text(json.dumps(line) + "\n")
    with pytest.raises(BadInput, match=r"copy.* is damaged.*restore the record from a backup"):
        RunResults.from_record(Record(copy))


def test_long_records_need_little_memory(tmp_path: Path) -> None:
    """3000 tasks, ten of them per evaluation: 72 MB as a dense table, 0.5 MB as a sparse one."""
    record = recorded(tmp_path / "run", "nearest", n_tasks=1)
    row = {
        "event": "scored",
        "n_batches": None,
        "factor_errors": {},
        "n_correct": [1] * 10,
        "n_images": [2] * 10,
    }
    with (record.folder / "scores.jsonl").open("w") as log:
        for task in range(9, 3000):
            tasks = list(range(0, task, max(1, task // 9)))[:9]
            log.write(json.dumps({**row, "task": task, "eval_tasks": [*tasks, task]}) + "\n")
    tracemalloc.start()
    found = RunResults.from_record(record)
    measures, table = found.measures(), mean_table([found.scores])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (measures["average_accuracy"], measures["forgetting"]) == (0.5, 0.0)
    assert len(table) < 3000
    assert peak < 8e6
