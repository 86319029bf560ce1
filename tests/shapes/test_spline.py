import numpy as np
import pytest

from everlearn.shapes.spline import (
    CHORDS_PER_SEGMENT,
    centroid,
    derivative,
    evaluate,
    extent,
    interpolate,
    is_simple,
    normalize,
    principal_axis,
    rotate,
)

VERTICES = np.array([[1.0, 0.1], [0.3, 1.2], [-1.1, 0.7], [-0.8, -0.5], [0.2, -1.4]])
STAR = [(2, 0), (0.3, 0.4), (0, 2), (-0.4, 0.2), (-2, -0.1), (0.1, -1.5)]
BOW_TIE = [(1, 1), (-1, -1), (-1, 1), (1, -1)]
# Not star-shaped, but simple.
HOOK = [(2, -1), (2, 1), (-2, 1), (-2, -1), (-1.5, -1), (-1.5, 0.5), (1.5, 0.5), (1.5, -1)]
# Only the closing chord crosses another one.
CLOSING = [(0, 0), (2, 0), (2, 2), (1, -1)]


def spline(vertices: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(vertices)
    cubics, chords = np.empty((n, 2, 4)), np.empty(n)
    interpolate(vertices, n, order, chords, np.empty((3, n)), cubics)
    return cubics, chords


def dense(cubics: np.ndarray, steps: int = 4000) -> np.ndarray:
    s = np.arange(steps) / steps
    powers = np.stack([s**0, s, s**2, s**3])
    return np.concatenate([(segment @ powers).T for segment in cubics])


@pytest.mark.parametrize("n", [3, 5, 8, 32])
def test_cubic_spline_agrees_with_scipy(n: int) -> None:
    scipy = pytest.importorskip("scipy.interpolate")
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    radii = 1 + 0.5 * np.sin(7 * angles + 1)
    vertices = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    cubics, chords = spline(vertices, 3)
    knots = np.concatenate([[0], np.cumsum(chords)])
    oracle = scipy.CubicSpline(knots, np.concatenate([vertices, vertices[:1]]), bc_type="periodic")
    for segment in range(n):
        for s in (0.0, 0.3, 0.9):
            found = [evaluate(cubics, segment, axis, s) for axis in (0, 1)]
            assert found == pytest.approx(oracle(knots[segment] + s * chords[segment]), abs=1e-12)
            found = [derivative(cubics, segment, axis, s) / chords[segment] for axis in (0, 1)]
            assert found == pytest.approx(oracle(knots[segment] + s * chords[segment], 1), abs=1e-11)


def test_order_one_is_a_polygon() -> None:
    cubics, _ = spline(VERTICES, 1)
    assert (cubics[..., 2:] == 0).all()
    assert cubics[..., 0] + cubics[..., 1] == pytest.approx(np.roll(VERTICES, -1, axis=0))


@pytest.mark.parametrize("order", [1, 3])
def test_centroid_and_extent_agree_with_a_dense_polygon(order: int) -> None:
    cubics, _ = spline(VERTICES, order)
    p = dense(cubics)
    q = np.roll(p, -1, axis=0)
    cross = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    area = cross.sum() / 2
    middle = ((p + q) * cross[:, None]).sum(axis=0) / (6 * area)
    assert centroid(cubics, len(VERTICES)) == pytest.approx((area, *middle), abs=1e-6)
    for axis in (0, 1):
        low, high = extent(cubics, len(VERTICES), axis)
        assert (low, high) == pytest.approx((p[:, axis].min(), p[:, axis].max()), abs=1e-6)
        assert low <= p[:, axis].min() + 1e-15
        assert high >= p[:, axis].max() - 1e-15


@pytest.mark.parametrize("angle", np.linspace(0, 2 * np.pi, 6))
def test_principal_axis_is_the_first_eigenvector(angle: float) -> None:
    rotated = VERTICES @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    cubics, chords = spline(rotated, 3)
    points, weights = dense(cubics, 500), np.repeat(chords, 500)
    _, vectors = np.linalg.eigh(np.cov(points.T, aweights=weights))
    axis = np.array(principal_axis(cubics, len(VERTICES), chords))
    assert abs(axis @ vectors[:, 1]) == pytest.approx(1, abs=1e-5)
    assert axis[np.abs(axis).argmax()] > 0


def test_principal_axis_of_a_symmetric_curve() -> None:
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    cubics, chords = spline(square, 1)
    assert np.hypot(*principal_axis(cubics, 4, chords)) == pytest.approx(1)


def test_rotate_and_normalize() -> None:
    cubics, _ = spline(VERTICES, 3)
    before, *_ = centroid(cubics, 5)
    rotate(cubics, 5, 0.6, 0.8)
    assert centroid(cubics, 5)[0] == pytest.approx(before)
    new_area = normalize(cubics, 5)
    area, x, y = centroid(cubics, 5)
    assert (area, x, y) == pytest.approx((new_area, 0, 0), abs=1e-15)
    for axis in (0, 1):
        low, high = extent(cubics, 5, axis)
        assert high - low == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("vertices", "order", "simple"),
    [
        (STAR, 1, True),
        (BOW_TIE, 1, False),
        (BOW_TIE, 3, False),
        (HOOK, 1, True),
        (HOOK, 3, True),
        (CLOSING, 1, False),
    ],
)
def test_is_simple(vertices: list[tuple[float, float]], order: int, simple: bool) -> None:
    cubics, _ = spline(np.array(vertices, float), order)
    points = np.empty((CHORDS_PER_SEGMENT * len(vertices), 2))
    assert is_simple(cubics, len(vertices), order, points) == simple
