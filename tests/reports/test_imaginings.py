"""Figures of what a really played run imagines: they show just what its record keeps."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everlearn.cli import main
from everlearn.reports import figure, html, latent_figures
from everlearn.reports.groups import group
from everlearn.reports.run_figures import NothingToDraw
from everlearn.reports.style import LOOKS
from everlearn.runs import Record, RunSpec, record
from everlearn.serialization import image_from_json

LOOK = LOOKS["paper"]
SETTINGS: dict[str, Any] = {
    "stream.sequence": ["moving-sprites", "inverted-sprites"],
    "stream.image_size": 16,
    "stream.n_shapes": 2,
    "stream.images_per_shape": 400,
    "stream.images_per_stage": 640,
    "batch_size": 32,
    "learner.size": "tiny",
    "learner.n_latents": 5,
    "learner.cooldown": 0,
    "learner.patience": 1,
}
ASKS = {
    "traversal": [],
    "translation": ["--size", "40"],
    "ambiguity": ["--size", "64", "--between", "inverted-sprites,moving-sprites"],
    "disentanglement": ["--size", "60"],
}
DRAWINGS = {**latent_figures.DRAWINGS, **latent_figures.DRAWINGS}


@pytest.fixture(scope="module")
def dreamt(tmp_path_factory: pytest.TempPathFactory) -> Record:
    folder = tmp_path_factory.mktemp("dreamt") / "vase"
    for _ in record(RunSpec.make(stream="environments", learner="vase", settings=SETTINGS), folder):
        pass
    with contextlib.redirect_stdout(io.StringIO()):
        for question, words in ASKS.items():
            assert main(["protocol", question, str(folder), *words]) == 0
    return Record(folder)


def kept(found: Record, question: str) -> dict[str, Any]:
    return json.loads((found.folder / "protocols" / f"{question}.json").read_text())


def test_answers_are_read_back_as_they_were_kept_and_small(dreamt: Record) -> None:
    answers = dreamt.answers()
    assert set(ASKS) <= set(answers)
    for question in ASKS:
        assert answers[question] == kept(dreamt, question)
        assert (dreamt.folder / "protocols" / f"{question}.json").stat().st_size < 100_000
    assert answers["ambiguity"]["names"] == ["inverted-sprites", "moving-sprites"]
    assert [each["name"] for each in answers["traversal"]["walks"]] == SETTINGS["stream.sequence"]
    assert answers["traversal"]["n_used"] + answers["traversal"]["n_spare"] == 5


def test_asking_again_gives_the_same_bytes(dreamt: Record) -> None:
    for question, words in ASKS.items():
        path = dreamt.folder / "protocols" / f"{question}.json"
        before = path.read_bytes()
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["protocol", question, str(dreamt.folder), *words]) == 0
        assert path.read_bytes() == before


def test_walks_are_those_of_the_record(dreamt: Record) -> None:
    answer = kept(dreamt, "traversal")
    blocks = latent_figures.traversal(group([dreamt]), LOOK).get_axes()
    for axes, walks in zip(blocks, answer["walks"], strict=True):
        page = np.asarray(axes.get_images()[0].get_array())
        tiles = image_from_json(walks["images"])
        np.testing.assert_array_equal(page[1:17, 1:17, 0], tiles[:16, :16])
        np.testing.assert_array_equal(page[18:34, 18:34, 2], tiles[16:32, 16:32])
        assert axes.get_title() == walks["name"]
        marks = {text.get_text() for text in axes.get_yticklabels()}
        assert marks == {str(latent) for latent in answer["latents"]}


def test_scores_are_those_of_the_record_and_empty_where_there_is_none(dreamt: Record) -> None:
    answer = kept(dreamt, "translation")
    tables = latent_figures.translated(group([dreamt]), LOOK).get_axes()
    for axes, score in zip(tables, ("there", "off", "kept"), strict=True):
        shown = np.ma.filled(np.asarray(axes.get_images()[0].get_array(), float), np.nan)
        np.testing.assert_array_equal(shown, latent_figures.score_table(answer, score))
    assert np.isnan(latent_figures.score_table(answer, "off")[:, 1]).all(), "nothing moves there"


def test_decisions_are_those_of_the_record(dreamt: Record) -> None:
    answer = kept(dreamt, "ambiguity")
    panels = latent_figures.ambiguity(group([dreamt]), LOOK).get_axes()
    for axes, context in zip(panels[1:3], answer["names"], strict=True):
        rows = sorted(
            (each for each in answer["curves"] if each["context"] in (context, "")),
            key=lambda each: each["n_mixed"],
        )
        shown = np.asarray(axes.get_images()[0].get_array(), float)
        np.testing.assert_array_equal(shown, [each["decided"] for each in rows])
    line = panels[3].get_lines()[0]
    assert line.get_ydata().tolist() == answer["chances"]


@pytest.mark.parametrize("kind", DRAWINGS)
def test_equal_records_give_equal_bytes(kind: str, dreamt: Record, tmp_path: Path) -> None:
    first, second = (figure(kind, [dreamt], tmp_path / f"{name}.svg").read_bytes() for name in "ab")
    assert first == second


def test_all_of_it_is_in_a_report(dreamt: Record, tmp_path: Path) -> None:
    page = html([dreamt], tmp_path / "report.html").read_text()
    for draw in DRAWINGS.values():
        assert str(draw.__doc__).replace("'", "&#x27;").splitlines()[0] in page


@pytest.mark.parametrize("kind", DRAWINGS)
def test_runs_that_were_not_asked_are_told_how(kind: str, runs: dict[str, Record]) -> None:
    with pytest.raises(NothingToDraw, match="everlearn protocol"):
        DRAWINGS[kind](group([runs["naive"]]), LOOK)


def test_gaps_are_gray_and_tiles_stay_what_they_are() -> None:
    image = np.arange(32, dtype=np.uint8).reshape(4, 8)
    page = latent_figures.spaced(image, 1, 2)
    assert page.shape == (6, 11, 3)
    np.testing.assert_array_equal(page[1:5, 6:10, 1], image[:, 4:])
    assert (page[:, 5] == latent_figures.GAP).all()
