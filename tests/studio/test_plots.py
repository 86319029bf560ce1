"""Whatever the page shows can be saved as an image, as a drawing and as a table."""

import csv
import io
import itertools
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from everlearn.runs import Record
from everlearn.studio.live_curves import CURVES, curves

from .visits import Studio

NASTY = "$\\frac{1}{0}$ <b>&amp; \N{SNOWMAN} \N{GRINNING FACE} $x"
"""A name that a drawing library could take for a formula, markup, or letters it cannot draw."""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("curve", CURVES)
def test_every_curve_is_saved_in_every_form(studio: Studio, records: Path, curve: str) -> None:
    (records / "nearest" / "name.txt").write_text(NASTY)
    query = {"record": ["dcl", "nearest"], "curve": curve}
    drawing = studio.get("/api/exports/curve", **query, ending="svg")
    assert drawing.headers["content-disposition"] == f'attachment; filename="{curve}.svg"'
    assert ElementTree.fromstring(drawing.content).tag.endswith("svg")
    images = [studio.get("/api/exports/curve", **query, ending="png", dark=dark).content for dark in (0, 1)]
    light, dark = (np.asarray(Image.open(io.BytesIO(each)).convert("L")) for each in images)
    assert light.mean() > 200 > 60 > dark.mean()
    table = rows(studio.get("/api/exports/curve", **query, ending="csv").text)
    for name in ("dcl", "nearest"):
        mine = [(float(row["tasks"]), float(row["value"])) for row in table if row["record"] == name]
        assert mine == curves(Record(records / name))[curve]
    assert {row["curve"] for row in table} == {curve}


def test_a_part_is_drawn_as_it_is_shown(studio: Studio) -> None:
    whole, part = (
        studio.get("/api/exports/curve", record="dcl", curve="loss", ending="svg", **span).content
        for span in ({}, {"low": 0.5, "high": 1.5})
    )
    assert whole != part
    assert (
        part
        == studio.get(
            "/api/exports/curve", record="dcl", curve="loss", ending="svg", low=0.5, high=1.5
        ).content
    )


def test_all_curves_are_one_table(studio: Studio, records: Path) -> None:
    table = rows(studio.get("/api/exports/curves.csv", record=["dcl", "nearest"]).text)
    expected = [
        (name, curve, x, y)
        for name in ("dcl", "nearest")
        for curve, points in curves(Record(records / name)).items()
        for x, y in points
    ]
    told = [(row["record"], row["curve"], float(row["tasks"]), float(row["value"])) for row in table]
    assert told == expected


def test_the_score_table_is_saved_in_every_form(studio: Studio, records: Path) -> None:
    (records / "dcl" / "name.txt").write_text(NASTY)
    assert b"<svg" in studio.get("/api/exports/scores", record="dcl", ending="svg").content
    content = studio.get("/api/exports/scores", record="dcl", ending="png").content
    with Image.open(io.BytesIO(content)) as image:
        assert min(image.size) > 400
    table = rows(studio.get("/api/exports/scores", record="dcl", ending="csv").text)
    expected = [
        (row.after + 1, task + 1, score)
        for row in Record(records / "dcl").score_table().rows()
        for task, score in zip(row.tasks.tolist(), row.scores.tolist(), strict=True)
    ]
    assert [(int(row["after"]), int(row["on"]), float(row["accuracy"])) for row in table] == expected


def test_what_is_not_there_cannot_be_saved(studio: Studio, records: Path) -> None:
    for log in ("events.jsonl", "scores.jsonl", "seconds.jsonl"):
        (records / "dcl" / log).write_bytes(b"")
    for curve, ending in itertools.product(CURVES, ("svg", "png")):
        answer = studio.get("/api/exports/curve", record="dcl", curve=curve, ending=ending)
        assert (answer.status_code, "nothing to draw" in answer.json()["error"]) == (400, True)
    assert studio.get("/api/exports/scores", record="dcl", ending="svg").status_code == 400
    assert studio.get("/api/exports/curve", record="dcl", curve="loss", ending="csv").text.count("\n") == 1
    for query in ({"curve": "los"}, {"ending": "pdf"}, {"low": 2, "high": 1}, {"record": "none"}):
        given = {"record": "nearest", "curve": "loss", "ending": "svg", **query}
        assert studio.get("/api/exports/curve", **given).status_code in (400, 404), query
