from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.reports.axes import _apart, canvas, name_lines, share_axis
from everlearn.reports.style import LOOKS


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.01, 0.2))
def test_names_are_kept_apart_and_in_order(places: list[float], gap: float) -> None:
    places = sorted(places)
    moved = _apart(places, gap)
    assert len(moved) == len(places)
    assert all(after - before >= gap - 1e-9 for before, after in pairwise(moved))
    assert sum(moved) == pytest.approx(sum(places)), "together they stay where they were"


def test_names_with_room_stay_where_their_lines_end() -> None:
    assert _apart([0.1, 0.3, 0.9], 0.15) == [0.1, 0.3, 0.9]


def test_the_name_of_a_line_out_of_sight_stands_at_the_edge() -> None:
    _, (axes,) = canvas(1)
    axes.plot([1, 2], [0.1, 0.2])
    share_axis(axes, "accuracy", bottom=0.95)
    name_lines(axes, ["far below"], LOOKS["paper"])
    (name,) = axes.texts
    assert (name.get_text(), name.get_position()[1]) == ("far below", 0.0)
