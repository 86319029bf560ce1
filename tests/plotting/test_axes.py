from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.plotting import STYLES, FigurePart, draw_parts
from everlearn.plotting.axes import (
    Bar,
    _spread,
    canvas,
    draw_bars,
    draw_score_table,
    label_lines,
    unit_y_axis,
)

LIGHT = STYLES["light"]


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.01, 0.2))
def test_labels_do_not_overlap_and_keep_their_order(positions: list[float], gap: float) -> None:
    positions = sorted(positions)
    moved = _spread(positions, gap)
    assert len(moved) == len(positions)
    assert all(after - before >= gap - 1e-9 for before, after in pairwise(moved))
    assert sum(moved) == pytest.approx(sum(positions)), "the mean position stays"
    if all(after - before >= gap for before, after in pairwise(positions)):
        assert moved == positions


def test_label_of_a_line_out_of_view_is_at_the_border() -> None:
    _, (axes,) = canvas(1)
    axes.plot([1, 2], [0.1, 0.2])
    unit_y_axis(axes, "accuracy", bottom=0.95)
    label_lines(axes, ["far below"], LIGHT)
    (label,) = axes.texts
    assert (label.get_text(), label.get_position()[1]) == ("far below", 0.0)
    assert axes.get_ylabel() == "accuracy, from 0.95 up"


def test_parts_are_stacked_by_height() -> None:
    heights = [1.0, 3.0]
    parts = [
        FigurePart(lambda data, h=h: h * data, lambda figure, data, style: figure.subplots()) for h in heights
    ]  # type: ignore[var-annotated]
    assert draw_parts(1.0, LIGHT, parts[0]).get_size_inches().tolist() == [5.5, 1.0]
    both = draw_parts(2.0, LIGHT, *parts)
    assert both.get_size_inches().tolist() == [5.5, 8.0]
    assert len(both.axes) == 2


def test_bars_have_lengths_and_texts() -> None:
    _, (single, pairs) = canvas(2, columns=2)
    draw_bars(single, "time", {0: [Bar(2.0, "2 s")], 1: [Bar(0.0, "–")]}, LIGHT)
    assert [patch.get_width() for patch in single.patches] == [2.0, 0.0]
    assert [text.get_text() for text in single.texts] == ["2 s", "–"]
    draw_bars(pairs, "accuracy", {3: (Bar(0.5, "a"), Bar(-0.1, "b"))}, LIGHT, full=1.0)
    assert [patch.get_width() for patch in pairs.patches] == [0.5, 0.0], "negative lengths are 0"
    assert pairs.get_xlim() == (0, 2)


@pytest.mark.parametrize("n", [3, 60])
def test_score_tables_are_cells_or_an_image(n: int) -> None:
    _, (axes,) = canvas(1)
    table = np.where(np.tri(n, dtype=bool), 0.5, np.nan)
    draw_score_table(axes, table, n, LIGHT, with_text=n == 3)
    assert (len(axes.collections), len(axes.get_images())) == ((1, 0) if n == 3 else (0, 1))
    assert [text.get_text() for text in axes.texts] == [".50"] * (6 if n == 3 else 0)
