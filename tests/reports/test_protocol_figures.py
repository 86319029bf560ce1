"""Figures of protocols show the results that are stored in records."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from everlearn.evaluation import mean_interval
from everlearn.evaluation.formatting import format_score
from everlearn.evaluation.protocols.cross_domain import SCORES, CrossDomainResult
from everlearn.evaluation.protocols.multiple_choice import MultipleChoiceResult, pool_scores
from everlearn.plotting import STYLES
from everlearn.plotting.axes import NothingToDraw
from everlearn.reports.figures import get_drawing
from everlearn.reports.groups import Group, group
from everlearn.runs import Record
from everlearn.serialization import image_from_json

from .conftest import LATENT_PROTOCOLS, evaluate_latents, save_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = STYLES["light"]


@pytest.fixture
def groups(evaluated: dict[str, Record]) -> list[Group]:
    return group(list(evaluated.values()))


def draw(kind: str, groups: list[Group]) -> "Figure":
    drawn = get_drawing(kind)(groups, STYLE)
    drawn.draw_without_rendering()
    return drawn


def stored(record: Record, protocol: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((record.folder / "protocols" / f"{protocol}.json").read_text())
    return data


def of_dcl(evaluated: dict[str, Record], protocol: str) -> list[dict[str, Any]]:
    return [stored(evaluated[name], protocol) for name in ("dcl-0", "dcl-1")]


def test_open_set(evaluated: dict[str, Record], groups: list[Group]) -> None:
    results = of_dcl(evaluated, "open-set")
    panels = draw("open-set", groups).axes
    for axes, name in zip(panels, ("acceptance", "precision_recall", "roc"), strict=True):
        shown = [line.get_xydata().tolist() for line in axes.get_lines()]
        for result in results:
            assert np.column_stack([result[name]["x"], result[name]["y"]]).tolist() in shown
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert f"{format_score(mean_interval([result[name]['area'] for result in results]))}  dcl" in labels
        assert "chance" in labels
        assert ("0.92  Dziadzio et al. 2023" in labels) == (name == "acceptance")
    styles = [axes.get_lines()[0].get_drawstyle() for axes in panels]
    assert styles == ["default", "steps-pre", "default"]


def test_false_accepts(evaluated: dict[str, Record], groups: list[Group], tmp_path: Path) -> None:
    results = of_dcl(evaluated, "open-set")
    accepts = [accept for result in results for accept in result["false_accepts"]]
    assert accepts
    accepts.sort(key=lambda accept: accept["novelty"])
    shown = [axes.get_images()[0].get_array() for axes in draw("false-accepts", groups).axes]
    for number, name in enumerate(("image", "canonical", "exemplar")):
        row = shown[number * len(shown) // 3]
        np.testing.assert_array_equal(row, image_from_json(accepts[0][name]))
    copy = Record(shutil.copytree(evaluated["dcl-0"].folder, tmp_path / "copy"))
    save_results(copy, "open-set", {**results[0], "false_accepts": []})
    with pytest.raises(NothingToDraw, match="no image of a new class was accepted"):
        draw("false-accepts", group([Record(copy.folder)]))


def test_one_shot(evaluated: dict[str, Record], groups: list[Group]) -> None:
    results = of_dcl(evaluated, "one-shot")
    number = next(k for k, each in enumerate(groups) if each.short == "dcl")
    panels = draw("one-shot", groups).axes
    for axes, name in zip(panels, ("standard", "generalized", "old"), strict=True):
        expected = [np.mean([result["shots"][k][name] for result in results]) for k in (0, 1)]
        assert axes.get_lines()[number].get_xydata().tolist() == [[2, expected[0]], [5, expected[1]]]
        assert axes.get_xscale() == "log"
        assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "5"]


def test_held_out_factors(evaluated: dict[str, Record], groups: list[Group]) -> None:
    panels = draw("held-out-factors", groups).axes
    errors = ("scale\n(relative)", "angle\n(radians)", "position\n(half image)")
    assert [panel.get_title() for panel in panels] == ["accuracy", *(f"error of {each}" for each in errors)]
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["dcl"]
    results = of_dcl(evaluated, "held-out-factors")
    widths = [bar.get_width() for bar in panels[0].patches]
    assert widths == [np.mean([result[side] for result in results]) for side in ("trained", "held_out")]
    number = next(k for k, each in enumerate(groups) if each.short == "dcl")
    (color,) = {bar.get_facecolor()[:3] for bar in panels[0].patches}
    assert tuple(round(255 * part) for part in color) == tuple(bytes.fromhex(STYLE.color(number)[1:]))


def test_online_offline(evaluated: dict[str, Record], groups: list[Group]) -> None:
    result = stored(evaluated["naive"], "online-offline")
    images = next(axes for axes in draw("online-offline", groups).axes if axes.get_title() == "images")
    assert [bar.get_width() for bar in images.patches] == [result[s]["images"] for s in ("online", "offline")]
    assert result["offline"]["images"] == 2 * result["online"]["images"]


def test_multiple_choice(evaluated: dict[str, Record], groups: list[Group]) -> None:
    pooled = pool_scores(list(map(MultipleChoiceResult.from_json, of_dcl(evaluated, "multiple-choice"))))
    (axes,) = draw("multiple-choice", groups).axes
    for line, scores in zip(axes.get_lines(), pooled.values(), strict=False):
        assert line.get_xydata().tolist() == [[each.n_choices, each.accuracy] for each in scores]
    assert {text.get_text() for text in axes.texts} == {*pooled, "chance"}


def test_traversal(vase: Record) -> None:
    result = stored(vase, "traversal")
    panels = draw("traversal", group([vase])).axes
    for axes, each in zip(panels, result["environments"], strict=True):
        page = np.asarray(axes.get_images()[0].get_array())
        tiles = image_from_json(each["images"])
        np.testing.assert_array_equal(page[1:17, 1:17, 0], tiles[:16, :16])
        np.testing.assert_array_equal(page[18:34, 18:34, 2], tiles[16:32, 16:32])
        assert axes.get_title() == each["name"]
        labels = {text.get_text() for text in axes.get_yticklabels()}
        assert labels == {str(latent) for latent in result["latents"]}


def test_cross_domain(vase: Record) -> None:
    result = CrossDomainResult.from_json(stored(vase, "cross-domain"))
    for axes, score in zip(draw("cross-domain-scores", group([vase])).axes, SCORES, strict=True):
        shown = np.ma.filled(np.asarray(axes.get_images()[0].get_array(), float), np.nan)
        np.testing.assert_array_equal(shown, result.matrix(score))
    assert np.isnan(result.matrix("position_error")[:, 1]).all(), "constant positions"
    panels = draw("cross-domain", group([vase])).axes
    page = np.asarray(panels[0].get_images()[0].get_array())
    np.testing.assert_array_equal(page[1:17, 1:17, 0], result.images[0][:16, :16])


def test_ambiguity(vase: Record) -> None:
    result = stored(vase, "ambiguity")
    assert result["names"] == ["inverted-sprites", "moving-sprites"]
    panels = draw("ambiguity", group([vase])).axes
    for axes, context in zip(panels[1:3], result["names"], strict=True):
        curves = [curve for curve in result["curves"] if curve["context"] in (context, "")]
        curves.sort(key=lambda curve: int(curve["n_mixed"]))
        shown = np.asarray(axes.get_images()[0].get_array(), float)
        np.testing.assert_array_equal(shown, [curve["decided"] for curve in curves])
    assert panels[3].get_lines()[0].get_ydata().tolist() == result["probabilities"]


def test_disentanglement_and_latent_usage(vase: Record) -> None:
    (panel, *_) = draw("disentanglement", group([vase])).axes
    importances = stored(vase, "disentanglement")["environments"][0]["importances"]
    np.testing.assert_array_equal(np.asarray(panel.get_images()[0].get_array()), np.array(importances).T)
    (panel,) = draw("latent-usage", group([vase])).axes
    used = [each["used"] for each in stored(vase, "environments")["latents"]]
    assert len(panel.collections[0].get_offsets()) == np.sum(used)


def test_environment_timeline(vase: Record) -> None:
    """Bars of the stages, and of the inferred environments between changes."""
    result = stored(vase, "environments")
    (panel,) = draw("environment-timeline", group([vase])).axes
    assert len(panel.patches) == len(result["stages"]) + len(result["changes"]) + 1
    assert sum(bar.get_width() for bar in panel.patches) == 2 * sum(result["n_batches"])


def test_results_are_small_and_reproducible(vase: Record) -> None:
    files = {name: vase.folder / "protocols" / f"{name}.json" for name in LATENT_PROTOCOLS}
    before = {name: path.read_bytes() for name, path in files.items()}
    evaluate_latents(vase.folder)
    assert {name: path.read_bytes() for name, path in files.items()} == before
    assert all(len(content) < 100_000 for content in before.values())
