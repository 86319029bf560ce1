from pathlib import Path

import numpy as np
import pytest

from everlearn.reports.groups import group
from everlearn.reports.run_figures import DRAWINGS
from everlearn.reports.run_results import Findings
from everlearn.reports.style import LOOKS, worn
from everlearn.runs import Record

from .conftest import played

PAPER = LOOKS["paper"]


def test_lines_show_the_curves(runs: dict[str, Record]) -> None:
    groups = group(list(runs.values()))
    with worn(PAPER):
        (axes,) = DRAWINGS["accuracy"](groups, PAPER).axes
    for line, each in zip(axes.get_lines(), groups, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), each.line(Findings.accuracy).mean)
    assert [text.get_text() for text in axes.texts] != []
    assert {text.get_text() for text in axes.texts} == {each.short for each in groups}


def test_only_groups_with_several_seeds_have_a_band(runs: dict[str, Record]) -> None:
    with worn(PAPER):
        (single,) = DRAWINGS["accuracy"](group([runs["er-0"]]), PAPER).axes
        (double,) = DRAWINGS["accuracy"](group([runs["er-0"], runs["er-1"]]), PAPER).axes
    assert (len(single.collections), len(double.collections)) == (0, 1)


def test_heat_maps_hold_the_score_tables(runs: dict[str, Record]) -> None:
    groups = group([runs["naive"], runs["dcl"]])
    with worn(PAPER):
        panels = DRAWINGS["scores"](groups, PAPER).axes
    for axes, each in zip(panels, groups, strict=False):
        drawn = axes.collections[0].get_array().filled(np.nan).reshape(3, 3)
        np.testing.assert_array_equal(drawn, np.asarray(each.runs[0].scores))


@pytest.mark.parametrize("kind", ["accuracy", "forgetting", "scores"])
def test_tasks_are_counted_in_whole_numbers(kind: str, tmp_path: Path) -> None:
    two = played(tmp_path / "run", "nearest", n_tasks=2)
    with worn(PAPER):
        figure = DRAWINGS[kind](group([two]), PAPER)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert ticks
    assert all(tick == round(tick) for tick in ticks)


def test_bars_are_as_long_as_the_costs(runs: dict[str, Record]) -> None:
    groups = group([runs["naive"], runs["er-0"], runs["nearest"]])
    with worn(PAPER):
        panels = DRAWINGS["cost"](groups, PAPER).axes
    flops = [bar.get_width() for bar in panels[3].patches]
    assert flops == [each.runs[0].cost.flops for each in groups]
    held = [bar.get_width() for bar in panels[4].patches]
    assert held == [each.runs[0].cost.bytes for each in groups]


def test_only_those_who_estimate_factors_are_drawn(runs: dict[str, Record]) -> None:
    with worn(PAPER):
        panels = DRAWINGS["factors"](group([runs["naive"], runs["dcl"]]), PAPER).axes
    drawn = [[line for line in axes.get_lines() if len(line.get_xdata())] for axes in panels]
    assert [len(lines) for lines in drawn] == [1, 1, 1]
    errors = [row["factor_errors"]["angle"] for row in runs["dcl"].scores()]
    assert drawn[1][0].get_ydata() == pytest.approx(errors)


@pytest.mark.parametrize("kind", ["accuracy", "forgetting", "learning", "factors"])
def test_a_learner_has_the_same_colour_everywhere(kind: str, runs: dict[str, Record]) -> None:
    groups = group(list(runs.values()))
    with worn(PAPER):
        texts = [text for axes in DRAWINGS[kind](groups, PAPER).axes for text in axes.texts]
    assert texts
    rank = {each.short: number for number, each in enumerate(groups)}
    assert all(text.get_color() == PAPER.colour(rank[text.get_text()]) for text in texts)
