"""The registry of figures: reproducible files, styles, refusals."""

from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.evaluation import protocols
from everlearn.plotting import STYLES
from everlearn.plotting.axes import NothingToDraw
from everlearn.reports import figure
from everlearn.runs import Record

FIRST_BYTES = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG"}


@pytest.mark.parametrize(
    ("kind", "ending"), [("cost", ".svg"), ("scores", ".pdf"), ("false-accepts", ".png")]
)
def test_equal_records_give_equal_bytes(
    kind: str, ending: str, runs: dict[str, Record], evaluated: dict[str, Record], tmp_path: Path
) -> None:
    """Whatever the user's settings of matplotlib; the HTML report contains all figures."""
    records = [runs["er-0"], *evaluated.values()]
    first = figure(kind, records, tmp_path / f"first{ending}").read_bytes()
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        second = figure(kind, records, tmp_path / f"second{ending}").read_bytes()
    assert first == second
    assert first.startswith(FIRST_BYTES[ending])
    if ending == ".svg":
        assert ElementTree.fromstring(first).tag.endswith("svg")


@pytest.mark.parametrize("style", STYLES)
def test_background_of_styles(style: str, runs: dict[str, Record], tmp_path: Path) -> None:
    path = figure("accuracy", [runs["naive"]], tmp_path / "figure.png", style=style)
    with Image.open(path) as image:
        corner = image.convert("RGB").getpixel((0, 0))
    assert "#{:02x}{:02x}{:02x}".format(*corner) == STYLES[style].background


@pytest.mark.parametrize(
    ("kind", "name", "style", "message"),
    [
        ("acuracy", "a.svg", "light", "did you mean 'accuracy'"),
        ("accuracy", "a.jpg", "light", "ends in .svg or .pdf or .png"),
        ("accuracy", "a", "light", "ends in .svg"),
        ("accuracy", "missing/a.svg", "light", "a folder that exists"),
        ("accuracy", "a.svg", "drak", "did you mean 'dark'"),
        ("within-tasks", "a.svg", "light", "every_n_batches"),
        ("factors", "a.svg", "light", "none of these learners estimates factors"),
    ],
)
def test_invalid_use_is_refused(
    kind: str, name: str, style: str, message: str, runs: dict[str, Record], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message):
        figure(kind, [runs["naive"]], tmp_path / name, style=style)
    assert not list(tmp_path.iterdir())


def test_figures_of_protocols_need_results(runs: dict[str, Record], tmp_path: Path) -> None:
    for kind, protocol in protocols.figure_names().items():
        with pytest.raises(NothingToDraw, match=f"everlearn evaluate {protocol} RECORD"):
            figure(kind, [runs["naive"]], tmp_path / "a.svg")


def test_forgetting_needs_two_tasks(unfinished: Record, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least 2"):
        figure("forgetting", [unfinished], tmp_path / "a.svg")
    assert figure("accuracy", [unfinished], tmp_path / "a.svg").is_file()
