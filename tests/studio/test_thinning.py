"""Long curves keep their peaks, their ends and their order, in few points."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.runs import Record
from everlearn.studio import live_curves
from everlearn.studio.live_curves import COLUMNS, Follower, curves, thinned, within

from .test_records import learned
from .visits import Studio

HEIGHTS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300)


@given(HEIGHTS, st.integers(1, 40))
def test_each_column_keeps_its_peaks(heights: list[float], columns: int) -> None:
    """The oracle looks at every point of every column; nothing higher or lower may be missing."""
    points = [(float(x), y) for x, y in enumerate(heights)]
    few = thinned(points, columns)
    assert (few[0], few[-1]) == (points[0], points[-1])
    assert few == sorted(set(few)), "in order, each once"
    assert set(few) <= set(points)
    assert len(few) <= 2 * columns + 2

    def column(x: float) -> int:
        return min(int(x / (max(1, len(points) - 1)) * columns), columns - 1)

    for number in range(columns):
        before = [y for x, y in points if column(x) == number]
        after = [y for x, y in few if column(x) == number]
        if before and len(points) > 2 * columns:
            assert (min(after), max(after)) == (min(before), max(before))


def test_a_curve_that_stands_still_is_not_divided_by_nothing() -> None:
    assert thinned([(1.0, float(y)) for y in range(10)], 2) == [(1.0, 0.0), (1.0, 9.0)]
    assert thinned([], 2) == []


@given(HEIGHTS, st.floats(-10, 310), st.floats(0, 50))
def test_a_part_goes_on_to_its_edges(heights: list[float], low: float, length: float) -> None:
    points = [(float(x), y) for x, y in enumerate(heights)]
    part = within(points, low, low + length)
    inside = [point for point in points if low <= point[0] <= low + length]
    assert [point for point in part if low <= point[0] <= low + length] == inside
    assert len(part) <= len(inside) + 2
    assert all(a[0] + 1 == b[0] for a, b in itertools.pairwise(part))


def spiky(folder: Path, n_points: int) -> None:
    """A record whose loss is flat, with one peak of a single batch."""
    line = {**json.loads(learned(0)), "n_batches": n_points}
    told = [
        {**line, "batch": i, "losses": {"loss": 77.0 if i == n_points // 3 else 1.0}} for i in range(n_points)
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in told))


def test_a_peak_among_25_000_points_reaches_the_page(studio: Studio, records: Path) -> None:
    spiky(records / "nearest", 25_000)
    assert len(curves(Record(records / "nearest"))["loss"]) == 25_000
    whole = studio.get("/api/records/curves", record="nearest").json()["points"]["loss"]
    assert len(whole) <= 2 * COLUMNS + 2
    ((peak, _),) = [point for point in whole if point[1] == 77.0]
    near = {"low": peak - 0.01, "high": peak + 0.01}
    part = studio.get("/api/records/curves", record="nearest", **near).json()["points"]["loss"]
    assert len(part) == pytest.approx(500, abs=5), "zoomed in, every point is there"
    assert studio.get("/api/records/curves", record="nearest", low=3, high=1).status_code == 400


def test_what_is_told_for_hours_is_told_anew_in_fewer_points(
    records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_curves, "MOST", 4)
    log = records / "nearest" / "events.jsonl"
    log.write_bytes(b"".join(map(learned, range(5))))
    follower = Follower(Record(records / "nearest"))
    assert (follower.news()[0], follower.news()[0]) == (False, True)
    with log.open("ab") as file:
        file.write(learned(5))
    is_new, points = follower.news()
    assert is_new
    assert [y for _, y in points["loss"]] == [1 / (batch + 1) for batch in range(6)]


def test_a_value_that_is_no_number_is_left_out(records: Path) -> None:
    """Our own logs never hold one, but a record may come from anywhere."""
    log = records / "nearest" / "events.jsonl"
    log.write_bytes(learned(0) + learned(1).replace(b"0.5", b"NaN") + learned(3).replace(b"0.25", b"1e999"))
    assert [y for _, y in curves(Record(records / "nearest"))["loss"]] == [1.0]
