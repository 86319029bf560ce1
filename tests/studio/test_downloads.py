import csv
import io
import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from everlearn.runs import Record
from everlearn.studio.live_curves import CURVES, read_curves

from .live_server import Studio

DIFFICULT_NAME = "$\\frac{1}{0}$ <b>&amp; \N{SNOWMAN} \N{GRINNING FACE} $x"
"""A formula, markup, and characters that fonts lack."""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_curves_are_downloaded_in_all_formats(studio: Studio, records: Path) -> None:
    (records / "nearest" / "name.txt").write_text(DIFFICULT_NAME)
    for curve in CURVES:
        query = {"record": ["dcl", "nearest"], "curve": curve}
        svg = studio.get("/api/downloads/curve", **query, format="svg")
        assert svg.headers["content-disposition"] == f'attachment; filename="{curve}.svg"'
        assert ElementTree.fromstring(svg.content).tag.endswith("svg")
        light, dark = (
            studio.get("/api/downloads/curve", **query, format="png", dark=dark).content for dark in (0, 1)
        )
        assert brightness(light) > 200 > 60 > brightness(dark)
        table = rows(studio.get("/api/downloads/curve", **query, format="csv").text)
        assert {row["curve"] for row in table} == {curve}
        latex = studio.get("/api/downloads/curve", **query, format="tex").text
        assert latex.count(r"\addplot") == 2
        assert DIFFICULT_NAME not in latex
        points = re.findall(r"\((\S+),(\S+)\)", latex)
        expected = [
            point for name in ("dcl", "nearest") for point in read_curves(Record(records / name))[curve]
        ]
        np.testing.assert_allclose(
            np.array(points, float).reshape(-1, 2), np.reshape(expected, (-1, 2)), rtol=1e-5
        )


def brightness(png: bytes) -> float:
    return float(np.asarray(Image.open(io.BytesIO(png)).convert("L")).mean())


def test_a_zoomed_plot_shows_the_range(shared_studio: Studio) -> None:
    query = {"record": "dcl", "curve": "loss", "format": "svg"}
    whole, part, again = (
        shared_studio.get("/api/downloads/curve", **query, **task_range).content
        for task_range in ({}, {"low": 0.5, "high": 1.5}, {"low": 0.5, "high": 1.5})
    )
    assert whole != part == again


def test_all_curves_are_one_csv_file(shared_studio: Studio, trained_records: Path) -> None:
    table = rows(shared_studio.get("/api/downloads/curves.csv", record=["dcl", "nearest"]).text)
    expected = [
        (name, curve, x, y)
        for name in ("dcl", "nearest")
        for curve, points in read_curves(Record(trained_records / name)).items()
        for x, y in points
    ]
    found = [(row["record"], row["curve"], float(row["tasks"]), float(row["value"])) for row in table]
    assert found == expected


def test_the_score_matrix_is_downloaded_in_all_formats(studio: Studio, records: Path) -> None:
    (records / "dcl" / "name.txt").write_text(DIFFICULT_NAME)
    assert b"<svg" in studio.get("/api/downloads/scores", record="dcl", format="svg").content
    content = studio.get("/api/downloads/scores", record="dcl", format="png").content
    with Image.open(io.BytesIO(content)) as image:
        assert min(image.size) > 400
    table = rows(studio.get("/api/downloads/scores", record="dcl", format="csv").text)
    expected = [
        (row.after + 1, task + 1, score)
        for row in Record(records / "dcl").scores.rows()
        for task, score in zip(row.tasks.tolist(), row.scores.tolist(), strict=True)
    ]
    assert [(int(row["after"]), int(row["on"]), float(row["accuracy"])) for row in table] == expected


def test_a_plot_without_data_is_an_error(studio: Studio, records: Path) -> None:
    for log in ("events.jsonl", "scores.jsonl", "seconds.jsonl"):
        (records / "dcl" / log).write_bytes(b"")
    for curve, file_format in itertools.product(CURVES, ("svg", "png")):
        response = studio.get("/api/downloads/curve", record="dcl", curve=curve, format=file_format)
        assert (response.status_code, "no data to plot" in response.json()["error"]) == (400, True)
    assert studio.get("/api/downloads/scores", record="dcl", format="svg").status_code == 400
    assert studio.get("/api/downloads/curve", record="dcl", curve="loss", format="csv").text.count("\n") == 1


@pytest.mark.parametrize(
    "invalid", [{"curve": "los"}, {"format": "pdf"}, {"low": 2, "high": 1}, {"record": "none"}]
)
def test_invalid_parameters_are_an_error(shared_studio: Studio, invalid: dict[str, object]) -> None:
    query = {"record": "nearest", "curve": "loss", "format": "svg", **invalid}
    assert shared_studio.get("/api/downloads/curve", **query).status_code in (400, 404)
