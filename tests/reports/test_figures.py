from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.figure import Figure
from PIL import Image

from everlearn.errors import BadInput
from everlearn.reports import FIGURES, LOOKS, figure, latent_figures, probe_figures
from everlearn.reports.style import encoded, worn
from everlearn.runs import Record

DESCRIBED = {**probe_figures.DRAWINGS, **latent_figures.DRAWINGS, **latent_figures.DRAWINGS}
"""Figures of learners that describe, which are looked at elsewhere."""

BEGINNINGS = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG"}


@pytest.mark.parametrize("ending", BEGINNINGS)
@pytest.mark.parametrize("kind", sorted(FIGURES.keys() - DESCRIBED))
def test_equal_records_give_equal_bytes(
    kind: str, ending: str, runs: dict[str, Record], asked: dict[str, Record], tmp_path: Path
) -> None:
    records = [*(runs[name] for name in ("er-0", "er-1", "dcl")), *asked.values()]
    first = figure(kind, records, tmp_path / f"first{ending}").read_bytes()
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        second = figure(kind, records, tmp_path / f"second{ending}").read_bytes()
    assert first == second
    assert first.startswith(BEGINNINGS[ending])
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"first{ending}", f"second{ending}"]


def test_last_digits_of_a_place_are_not_written() -> None:
    """Panels are arranged by a solver whose last digits depend on where things lie in memory."""
    left, right = (_panel_at(0.1), _panel_at(0.1 + 1e-12))
    assert left == right
    assert b"frame-" in left
    assert left != _panel_at(0.2)


def _panel_at(x: float) -> bytes:
    with worn(LOOKS["paper"]):
        figure = Figure()
        figure.add_axes((x, 0.1, 0.5, 0.5)).plot([0, 1])
        return encoded(figure, "svg")


@pytest.mark.parametrize("look", LOOKS)
def test_looks_have_their_paper(look: str, runs: dict[str, Record], tmp_path: Path) -> None:
    path = figure("accuracy", [runs["naive"]], tmp_path / "figure.png", look=look)
    with Image.open(path) as image:
        corner = image.convert("RGB").getpixel((0, 0))
    assert "#{:02x}{:02x}{:02x}".format(*corner) == LOOKS[look].paper


def test_drawing_leaves_matplotlib_as_it_was(runs: dict[str, Record], tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    figure("scores", [runs["naive"]], tmp_path / "figure.svg", look="dark")
    assert dict(matplotlib.rcParams) == before


def test_what_differs_is_drawn_differently(runs: dict[str, Record], tmp_path: Path) -> None:
    both = [figure("accuracy", [runs[name]], tmp_path / f"{name}.svg") for name in ("naive", "dcl")]
    assert both[0].read_bytes() != both[1].read_bytes()


def test_svg_is_well_formed(runs: dict[str, Record], tmp_path: Path) -> None:
    path = figure("cost", list(runs.values()), tmp_path / "cost.svg")
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("kind", "name", "look", "words"),
    [
        ("acuracy", "a.svg", "paper", "did you mean 'accuracy'"),
        ("accuracy", "a.jpg", "paper", "ends in .svg or .pdf or .png"),
        ("accuracy", "a", "paper", "ends in .svg"),
        ("accuracy", "missing/a.svg", "paper", "a folder that exists"),
        ("accuracy", "a.svg", "drak", "did you mean 'dark'"),
        ("learning", "a.svg", "paper", "inside_every"),
        ("factors", "a.svg", "paper", "none of these learners estimates factors"),
    ],
)
def test_bad_input(
    kind: str, name: str, look: str, words: str, runs: dict[str, Record], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=words):
        figure(kind, [runs["naive"]], tmp_path / name, look=look)
    assert not list(tmp_path.iterdir())


def test_nothing_to_forget_after_one_task(unfinished: Record, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="second task"):
        figure("forgetting", [unfinished], tmp_path / "a.svg")
    assert figure("accuracy", [unfinished], tmp_path / "a.svg").is_file()
