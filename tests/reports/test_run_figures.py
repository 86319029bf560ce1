from pathlib import Path

import numpy as np
import pytest

from everlearn.plotting import STYLES, use_style
from everlearn.reports.groups import group
from everlearn.reports.run_figures import RUN_FIGURES
from everlearn.reports.run_results import RunResults
from everlearn.runs import Record

from .conftest import recorded

LIGHT = STYLES["light"]


def test_lines_are_mean_curves(runs: dict[str, Record]) -> None:
    groups = group(list(runs.values()))
    with use_style(LIGHT):
        (axes,) = RUN_FIGURES["accuracy"](groups, LIGHT).axes
    for line, each in zip(axes.get_lines(), groups, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), each.series(RunResults.accuracy).mean)
    assert {text.get_text() for text in axes.texts} == {each.short for each in groups}
    with use_style(LIGHT):
        (single,) = RUN_FIGURES["accuracy"](group([runs["er-0"]]), LIGHT).axes
        (double,) = RUN_FIGURES["accuracy"](group([runs["er-0"], runs["er-1"]]), LIGHT).axes
    assert (len(single.collections), len(double.collections)) == (0, 1), "bands need several seeds"


def test_heatmaps_are_score_tables(runs: dict[str, Record]) -> None:
    groups = group([runs["naive"], runs["dcl"]])
    with use_style(LIGHT):
        panels = RUN_FIGURES["scores"](groups, LIGHT).axes
    for axes, each in zip(panels, groups, strict=False):
        drawn = axes.collections[0].get_array().filled(np.nan).reshape(3, 3)
        np.testing.assert_array_equal(drawn, np.asarray(each.runs[0].scores))


def test_task_ticks_are_integers(tmp_path: Path) -> None:
    groups = group([recorded(tmp_path / "run", "nearest", n_tasks=2)])
    for kind in ("accuracy", "forgetting", "scores"):
        with use_style(LIGHT):
            figure = RUN_FIGURES[kind](groups, LIGHT)
            figure.draw_without_rendering()
        low, high = figure.axes[0].get_xlim()
        ticks = [tick for tick in figure.axes[0].get_xticks() if low <= tick <= high]
        assert ticks
        assert all(tick == round(tick) for tick in ticks)


@pytest.mark.parametrize(("kind", "measure"), [("accuracy-bytes", "bytes"), ("accuracy-flops", "flops")])
def test_accuracy_against_a_cost(runs: dict[str, Record], kind: str, measure: str) -> None:
    groups = group([runs[name] for name in ("naive", "er-0", "er-1", "er-small")])
    with use_style(LIGHT):
        (axes,) = RUN_FIGURES[kind](groups, LIGHT).axes
    assert {text.get_text() for text in axes.texts} == {"er", "naive"}
    drawn = {(x, y) for line in axes.get_lines() for x, y in zip(*line.get_data(), strict=True)}
    expected = [(each.intervals[measure], each.intervals["average_accuracy"]) for each in groups]
    assert drawn == {(x.mean, y.mean) for x, y in expected if x and y}
    ends = [y for bars in axes.collections for segment in bars.get_segments() for y in segment[:, 1]]
    assert all(0 <= y <= 1 for y in ends)


def test_bars_are_costs(runs: dict[str, Record]) -> None:
    groups = group([runs["naive"], runs["er-0"], runs["nearest"]])
    with use_style(LIGHT):
        panels = RUN_FIGURES["cost"](groups, LIGHT).axes
    flops = [bar.get_width() for bar in panels[3].patches]
    assert flops == [each.runs[0].cost.flops for each in groups]
    held = [bar.get_width() for bar in panels[4].patches]
    costs = [each.runs[0].cost for each in groups]
    assert held == [cost.weight_bytes + cost.memory_bytes for cost in costs]


def test_factor_errors_of_learners_that_estimate_factors(runs: dict[str, Record]) -> None:
    with use_style(LIGHT):
        panels = RUN_FIGURES["factors"](group([runs["naive"], runs["dcl"]]), LIGHT).axes
    drawn = [[line for line in axes.get_lines() if len(line.get_xdata())] for axes in panels]
    assert [len(lines) for lines in drawn] == [1, 1, 1]
    errors = [row["factor_errors"]["angle"] for row in runs["dcl"].evaluations()]
    assert drawn[1][0].get_ydata() == pytest.approx(errors)


def test_colors_are_the_same_in_all_figures(runs: dict[str, Record]) -> None:
    groups = group(list(runs.values()))
    rank = {each.short: number for number, each in enumerate(groups)}
    for kind in ("accuracy", "forgetting", "within-tasks", "factors"):
        with use_style(LIGHT):
            texts = [text for axes in RUN_FIGURES[kind](groups, LIGHT).axes for text in axes.texts]
        assert texts
        assert all(text.get_color() == LIGHT.color(rank[text.get_text()]) for text in texts)
