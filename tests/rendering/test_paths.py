from itertools import pairwise

import numpy as np
import pytest

from everlearn.rendering.paths import DIVIDER, LEFT, PEN_UP, RETURN, RIGHT, flatten
from everlearn.shapes import ShapeFamily

OUTLINES = ShapeFamily(seed=9).outlines(np.arange(200))


def paths(unit_px: float) -> list[tuple[np.ndarray, np.ndarray]]:
    first, points, codes = flatten(OUTLINES.cubics, OUTLINES.n_vertices, np.full(len(OUTLINES), unit_px))
    return [(points[a:b].astype(float), codes[a:b]) for a, b in pairwise(first)]


def signed_area(points: np.ndarray, codes: np.ndarray, wanted: set[int]) -> float:
    """Area between the chosen lines and the x axis, summed with sign: that of the figure if it is closed."""
    a, b = points[:-1], points[1:]
    lines = np.isin(codes[:-1], list(wanted))
    return float(((b[:, 1] + a[:, 1]) * (a[:, 0] - b[:, 0]) / 2)[lines].sum())


def test_each_half_is_closed_and_both_make_the_whole() -> None:
    for (points, codes), area in zip(paths(57.6), OUTLINES.area, strict=True):
        assert codes[-1] == PEN_UP
        for half in ({RIGHT, DIVIDER}, {LEFT, RETURN}):
            lines = np.isin(codes[:-1], list(half))
            assert np.diff(points, axis=0)[lines].sum(axis=0) == pytest.approx([0, 0], abs=1e-6)
        halves = [signed_area(points, codes, half) for half in ({RIGHT, DIVIDER}, {LEFT, RETURN})]
        assert min(halves) > 0
        assert sum(halves) == pytest.approx(area, abs=2e-4)


def test_halves_lie_on_their_own_side() -> None:
    for points, codes in paths(28.8):
        ends = np.stack([points[:-1, 0], points[1:, 0]])
        assert (ends[:, codes[:-1] == RIGHT] >= 0).all()
        assert (ends[:, codes[:-1] == LEFT] <= 0).all()
        assert (ends[:, np.isin(codes[:-1], [DIVIDER, RETURN])] == 0).all()


def test_larger_images_get_more_chords_and_polygons_never() -> None:
    small, large = paths(7.2), paths(230.4)
    curved = OUTLINES.orders == 3
    growth = np.array([len(b[1]) / len(a[1]) for a, b in zip(small, large, strict=True)])
    assert (growth[curved] > 2).all()
    assert (growth[~curved] == 1).all()


def test_chords_stay_within_their_tolerance() -> None:
    unit_px = 57.6
    for one, (points, codes) in zip(OUTLINES, paths(unit_px), strict=True):
        outline = one.points(2000)[0]
        corners = points[np.isin(codes, [LEFT, RIGHT])]
        distance = np.linalg.norm(corners[:, None] - outline[None], axis=2).min(axis=1)
        assert distance.max() * unit_px < 0.25
