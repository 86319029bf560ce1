import numpy as np
import pytest

from everlearn.networks.illumination import fit_planes, without_illumination
from everlearn.rng import rng_at
from everlearn.streams import sprites

BASIS = np.stack([np.ones(400), *(np.indices((20, 20)).reshape(2, -1) / 10 - 1)])


def noise(std: float) -> np.ndarray:
    return std * rng_at(0, "test", 1).normal(400)


def test_a_plane_is_found_beside_an_object_that_least_squares_would_fit_too() -> None:
    plane = np.array([90.0, 30.0, -20.0])
    levels = plane @ BASIS + noise(1.0)
    levels[:80] = 250
    np.testing.assert_allclose(fit_planes(levels[None], BASIS)[0], plane, atol=1.0)
    squared = np.linalg.lstsq(BASIS.T, levels, rcond=None)[0]
    assert np.abs(squared - plane).max() > 20


@pytest.mark.parametrize("plane", [[90.0, 0.0, 0.0], [90.0, 3.0, -2.0]])
def test_noise_has_no_plane(plane: list[float]) -> None:
    levels = plane @ BASIS + noise(20.0)
    found = fit_planes(levels[None], BASIS)[0]
    np.testing.assert_allclose(found, [np.median(levels), 0, 0])


@pytest.mark.parametrize("rgb", [False, True], ids=["gray", "color"])
def test_light_is_divided_out(rgb: bool) -> None:
    clean, lit = (sprites(rgb=rgb, factor_values=2, lighting=x).task(0).test.images for x in (0, 0.8))
    clean, lit = (each.reshape(*each.shape[:3], -1) for each in (clean, lit))
    background = clean[0, 0, 0].astype(float)
    errors = np.abs(without_illumination(lit, background).astype(int) - clean)
    assert np.abs(lit.astype(int) - clean).mean() > 30
    assert errors.mean() < 2
    assert errors.max() < 20
    np.testing.assert_array_equal(without_illumination(clean, background), clean)


def test_the_light_on_a_black_background_is_unknown() -> None:
    image = np.zeros((1, 16, 16, 1), np.uint8)
    image[0, 4:9, 4:9] = 200
    for background in (0.0, 170.0):
        np.testing.assert_array_equal(without_illumination(image, np.array([background])), image)
