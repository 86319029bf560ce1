import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from everlearn.evaluation import mean_interval
from everlearn.reports import html
from everlearn.reports.formatting import share
from everlearn.reports.groups import Group, group
from everlearn.reports.protocol_figures import DRAWINGS
from everlearn.reports.run_figures import NothingToDraw
from everlearn.reports.style import LOOKS
from everlearn.runs import Record
from everlearn.serialization import image_from_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOK = LOOKS["paper"]
QUESTIONS = {"mistakes": "openset"}
"""What is asked for figures that are not called after their question."""


@pytest.fixture
def groups(asked: dict[str, Record]) -> list[Group]:
    return group(list(asked.values()))


def drawn(kind: str, groups: list[Group]) -> "Figure":
    made = DRAWINGS[kind](groups, LOOK)
    made.draw_without_rendering()
    return made


def kept(record: Record, question: str) -> dict:
    return json.loads((record.folder / "protocols" / f"{question}.json").read_text())


def test_open_set_curves_are_those_of_the_answers(asked: dict[str, Record], groups: list[Group]) -> None:
    answers = [kept(asked[name], "openset") for name in ("dcl-0", "dcl-1")]
    for axes, name in zip(
        drawn("openset", groups).axes, ("acceptance", "precision_recall", "roc"), strict=True
    ):
        shown = [line.get_xydata().tolist() for line in axes.get_lines()]
        for answer in answers:
            assert np.column_stack([answer[name]["x"], answer[name]["y"]]).tolist() in shown
        words = [text.get_text() for text in axes.get_legend().get_texts()]
        assert f"{share(mean_interval([answer[name]['area'] for answer in answers]))}  dcl" in words
        assert "chance" in words
        assert ("0.92  Dziadzio et al. 2023" in words) == (name == "acceptance")


def test_precision_is_drawn_in_steps_as_its_area_is_counted(groups: list[Group]) -> None:
    styles = [axes.get_lines()[0].get_drawstyle() for axes in drawn("openset", groups).axes]
    assert styles == ["default", "steps-pre", "default"]


def test_mistakes_are_shown_as_they_were_seen(asked: dict[str, Record], groups: list[Group]) -> None:
    answers = [kept(asked[name], "openset") for name in ("dcl-0", "dcl-1")]
    told = sorted(
        (mistake for answer in answers for mistake in answer["mistakes"]), key=lambda each: each["novelty"]
    )
    if not told:
        with pytest.raises(NothingToDraw, match="nothing new was accepted"):
            drawn("mistakes", groups)
        return
    panels = drawn("mistakes", groups).axes
    shown = [axes.get_images()[0].get_array() for axes in panels]
    for number, name in enumerate(("image", "normalised", "exemplar")):
        row = shown[number * len(shown) // 3]
        np.testing.assert_array_equal(row, image_from_json(told[0][name]))


def test_one_shot_lines_are_means_over_seeds(asked: dict[str, Record], groups: list[Group]) -> None:
    answers = [kept(asked[name], "oneshot") for name in ("dcl-0", "dcl-1")]
    for axes, name in zip(drawn("oneshot", groups).axes, ("standard", "generalised", "old"), strict=True):
        expected = [np.mean([answer["shots"][k][name] for answer in answers]) for k in (0, 1)]
        number = next(k for k, each in enumerate(groups) if each.short == "dcl")
        assert axes.get_lines()[number].get_xydata().tolist() == [[2, expected[0]], [5, expected[1]]]
        assert axes.get_xscale() == "log"
        assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "5"]


def test_transfer_shows_only_who_was_asked_in_its_own_colour(
    asked: dict[str, Record], groups: list[Group]
) -> None:
    panels = drawn("transfer", groups).axes
    assert [panel.get_title() for panel in panels] == [
        "accuracy", "error in scale\n(relative)", "error in angle\n(radians)", "error in position\n(of image)"
    ]  # fmt: skip
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["dcl"]
    answers = [kept(asked[name], "transfer") for name in ("dcl-0", "dcl-1")]
    widths = [bar.get_width() for bar in panels[0].patches]
    assert widths == [np.mean([answer[side] for answer in answers]) for side in ("trained", "held_out")]
    number = next(k for k, each in enumerate(groups) if each.short == "dcl")
    (colour,) = {bar.get_facecolor()[:3] for bar in panels[0].patches}
    assert tuple(round(255 * part) for part in colour) == tuple(bytes.fromhex(LOOK.colour(number)[1:]))


def test_online_beside_offline(asked: dict[str, Record], groups: list[Group]) -> None:
    answer = kept(asked["naive"], "online")
    images = next(axes for axes in drawn("online", groups).axes if axes.get_title() == "images")
    assert [bar.get_width() for bar in images.patches] == [answer[s]["images"] for s in ("online", "offline")]
    assert answer["offline"]["images"] == 2 * answer["online"]["images"]


@pytest.mark.parametrize("kind", DRAWINGS)
def test_without_answers_a_sentence_says_how_to_ask(runs: dict[str, Record], kind: str) -> None:
    with pytest.raises(NothingToDraw, match=f"everlearn protocol {QUESTIONS.get(kind, kind)} RECORD"):
        DRAWINGS[kind](group([runs["naive"]]), LOOK)


def test_answers_of_a_record_that_changed_since_do_not_count(
    asked: dict[str, Record], tmp_path: Path
) -> None:
    copy = Record(shutil.copytree(asked["dcl-0"].folder, tmp_path / "copy"))
    assert copy.answers()["oneshot"] == kept(copy, "oneshot")
    with (copy.folder / "scores.jsonl").open("a") as log:
        log.write("{}\n")
    assert copy.answers() == {}


def test_the_page_shows_the_answers(asked: dict[str, Record], tmp_path: Path) -> None:
    page = html(list(asked.values()), tmp_path / "page.html").read_text()
    for draw in DRAWINGS.values():
        assert str(draw.__doc__) in page
