import numpy as np
import pytest

from everlearn.rendering.nuisances import blur, gaussian, light, pattern


def dots(size: int = 21) -> np.ndarray:
    canvas = np.zeros((1, 1, size, size), np.float32)
    canvas[0, 0, size // 2, size // 2] = 1
    return canvas


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.5])
def test_blur_spreads_a_dot_into_a_gaussian(radius: float) -> None:
    spot = blur(dots(41), radius)[0, 0]
    y, x = np.mgrid[-20:21, -20:21]
    wanted = np.exp(-(x**2 + y**2) / (2 * radius**2))
    assert spot == pytest.approx(wanted / wanted.sum(), abs=2e-3)
    assert spot.sum() == pytest.approx(1, abs=1e-5)
    assert np.array_equal(spot, spot.T)


def test_blur_leaves_even_images_alone() -> None:
    even = np.full((2, 3, 16, 16), 0.7, np.float32)
    assert blur(even, 3.0) == pytest.approx(even, abs=1e-6)


def test_gaussian_weights_add_up() -> None:
    for radius in (0.01, 0.5, 16.0):
        weights = gaussian(radius)
        assert sum(map(float, weights)) == pytest.approx(1, abs=1e-6)
        assert weights == weights[::-1]


def test_light_falls_from_one_side() -> None:
    canvas = np.ones((2, 1, 32, 32), np.float32)
    light(canvas, np.array([0.0, np.pi / 2]), 0.6)
    assert canvas[0, 0, :, 0] == pytest.approx(1, abs=0.02)
    assert canvas[0, 0, :, -1] == pytest.approx(0.4, abs=0.02)
    assert canvas[1, 0] == pytest.approx(canvas[0, 0].T)


def test_a_pattern_goes_through_its_lattice() -> None:
    lattice = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    waves = pattern(lattice, 64)[0]
    assert -1 <= waves.min() < -0.9
    assert 1 >= waves.max() > 0.9
    assert waves[0, 0] < 0 < waves[0, -1]
    assert np.abs(np.diff(waves, axis=0)).max() < 0.06
