import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from everlearn.runs import Record
from everlearn.studio.curve_groups import CurveView, group_key, lines
from everlearn.studio.live_curves import read_curves, read_totals

from .live_server import Studio


def copy_with_seed(record: Path, seed: int) -> Path:
    """A record that differs from another in its seed and in the accuracy after the first task."""
    copy = Path(shutil.copytree(record, record.with_name(f"{record.name}-{seed}")))
    spec = json.loads((copy / "spec.json").read_text())
    (copy / "spec.json").write_text(json.dumps({**spec, "seed": seed}))
    rows = [json.loads(line) for line in (copy / "scores.jsonl").read_text().splitlines()]
    rows[0]["n_correct"] = [0]
    (copy / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return copy


def test_seeds_are_grouped_with_their_mean_and_range(records: Path) -> None:
    pair = [Record(records / "nearest"), Record(copy_with_seed(records / "nearest", 1))]
    other = Record(records / "dcl")
    assert group_key(pair[0].spec) == group_key(pair[1].spec) != group_key(other.spec)
    nearest, dcl = lines([*pair, other], CurveView("accuracy", is_grouped=True))
    first = dict(read_curves(pair[0])["accuracy"])[1]
    assert (nearest.title, len(nearest.seeds), dcl.title, dcl.seeds) == ("nearest (2 seeds)", 2, "dcl", ())
    assert nearest.series.x.tolist() == [1, 2]
    found = [nearest.series.mean[0], nearest.series.low[0], nearest.series.high[0]]
    assert found == pytest.approx([first / 2, 0, first])
    single = lines([*pair, other], CurveView("accuracy"))
    assert [line.title for line in single] == ["nearest", "nearest-1", "dcl"]


@pytest.mark.parametrize("axis", ["images", "flops", "seconds"])
def test_another_axis_shows_totals(records: Path, axis: str) -> None:
    record = Record(records / "dcl")
    totals = dict(read_totals(record)[{"seconds": "total_seconds"}.get(axis, axis)])
    (line,) = lines([record], CurveView("accuracy", axis))  # type: ignore[arg-type]  # a name from above
    assert line.series.x.tolist() == pytest.approx([totals[1], totals[2]])
    ended = [event for event in record.events() if event["event"] == "task-ended"]
    assert dict(read_totals(record)["images"])[2] == sum(event["n_images"] for event in ended)
    pair = [record, Record(copy_with_seed(records / "dcl", 1))]
    (line,) = lines(pair, CurveView("accuracy", axis, is_grouped=True))  # type: ignore[arg-type]
    assert line.series.x.tolist() == pytest.approx([totals[1], totals[2]])


def test_a_difference_is_that_of_the_curves(records: Path) -> None:
    pair = [Record(records / "dcl"), Record(records / "nearest")]
    (line,) = lines(pair, CurveView("accuracy", baseline=records / "nearest"))
    dcl, nearest = (np.array(read_curves(record)["accuracy"]) for record in pair)
    assert line.title == "dcl minus nearest"
    assert line.series.mean.tolist() == pytest.approx((dcl - nearest)[:, 1].tolist())


def test_figures_of_all_views_are_downloaded(studio: Studio, records: Path) -> None:
    copy_with_seed(records / "nearest", 1)
    query = {"record": ["dcl", "nearest", "nearest-1"], "curve": "accuracy", "format": "svg"}
    views = (
        {},
        {"grouped": True},
        {"grouped": True, "axis": "flops"},
        {"axis": "seconds", "low": 0, "high": 1e6},
        {"curve": "loss", "log": True},
        {"baseline": "nearest", "grouped": True},
    )
    answers = [studio.get("/api/downloads/curve", **{**query, **view}) for view in views]
    assert [answer.status_code for answer in answers] == [200] * len(views)
    assert len({answer.content for answer in answers}) == len(views)
    for wrong in ({"axis": "hours"}, {"baseline": "../x"}, {"log": "perhaps"}):
        assert studio.get("/api/downloads/curve", **{**query, **wrong}).status_code in (400, 404)


def test_the_comparison_is_a_table_and_two_files(studio: Studio, records: Path) -> None:
    copy_with_seed(records / "nearest", 1)
    query = {"record": ["dcl", "nearest", "nearest-1"]}
    table = studio.get("/api/comparison", **query).json()
    heading = [column["heading"] for column in table["columns"]]
    rows = [dict(zip(heading, row, strict=True)) for row in table["rows"]]
    assert {row["learner"]: row["seeds"] for row in rows} == {"dcl": "1", "nearest": "2"}
    latex = studio.get("/api/downloads/comparison", **query, format="tex").text
    assert latex.startswith(r"\begin{tabular}")
    csv = studio.get("/api/downloads/comparison", **query, format="csv").text
    assert csv.count("\n") == 3
    scores = studio.get("/api/downloads/scores", record="dcl", format="tex").text
    assert (scores.count(r"\\"), scores.count("&")) == (3, 6)
