from itertools import pairwise

import numpy as np
import pytest

from everlearn.rendering.paths import DIVIDER, LEFT, MOVE, RETURN, RIGHT, flatten
from everlearn.shapes import ShapeFamily

OUTLINES = ShapeFamily(seed=9).outlines(np.arange(200))


def paths(unit_px: float) -> list[tuple[np.ndarray, np.ndarray]]:
    first, points, codes = flatten(OUTLINES.cubics, OUTLINES.n_vertices, np.full(len(OUTLINES), unit_px))
    return [(points[a:b].astype(float), codes[a:b]) for a, b in pairwise(first)]


def signed_area(points: np.ndarray, codes: np.ndarray, selected: set[int]) -> float:
    """Signed area between lines and the x axis: the enclosed area if the lines are closed."""
    a, b = points[:-1], points[1:]
    lines = np.isin(codes[:-1], list(selected))
    return float(((b[:, 1] + a[:, 1]) * (a[:, 0] - b[:, 0]) / 2)[lines].sum())


def test_halves_are_closed_and_add_up_to_the_outline() -> None:
    for (points, codes), area in zip(paths(57.6), OUTLINES.area, strict=True):
        assert codes[-1] == MOVE
        for half in ({RIGHT, DIVIDER}, {LEFT, RETURN}):
            lines = np.isin(codes[:-1], list(half))
            assert np.diff(points, axis=0)[lines].sum(axis=0) == pytest.approx([0, 0], abs=1e-6)
        halves = [signed_area(points, codes, half) for half in ({RIGHT, DIVIDER}, {LEFT, RETURN})]
        assert min(halves) > 0
        assert sum(halves) == pytest.approx(area, abs=2e-4)


def test_halves_are_on_their_side() -> None:
    for points, codes in paths(28.8):
        ends = np.stack([points[:-1, 0], points[1:, 0]])
        assert (ends[:, codes[:-1] == RIGHT] >= 0).all()
        assert (ends[:, codes[:-1] == LEFT] <= 0).all()
        assert (ends[:, np.isin(codes[:-1], [DIVIDER, RETURN])] == 0).all()


def test_number_of_chords_grows_with_size_for_curves_only() -> None:
    small, large = paths(7.2), paths(230.4)
    curved = OUTLINES.orders == 3
    growth = np.array([len(b[1]) / len(a[1]) for a, b in zip(small, large, strict=True)])
    assert (growth[curved] > 2).all()
    assert (growth[~curved] == 1).all()


def test_chords_are_within_tolerance() -> None:
    unit_px = 57.6
    for one, (points, codes) in zip(OUTLINES, paths(unit_px), strict=True):
        outline = one.points(2000)[0]
        corners = points[np.isin(codes, [LEFT, RIGHT])]
        distance = np.linalg.norm(corners[:, None] - outline[None], axis=2).min(axis=1)
        assert distance.max() * unit_px < 0.25
