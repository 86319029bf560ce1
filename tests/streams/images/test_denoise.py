import numpy as np
import pytest
from scipy.fft import dctn

from everlearn.rng import rng_at
from everlearn.streams.images.decode import Pixels
from everlearn.streams.images.denoise import COLOURS, SIDE, TRANSFORM, denoised, noise_sigma


def scene(side: int = 96) -> Pixels:
    """A coloured ramp with a disk in front of it."""
    y, x = np.mgrid[:side, :side]
    image = np.stack([60 + x, 90 + y, 200 - (x + y) / 2], axis=-1)
    image[(x - 40) ** 2 + (y - 50) ** 2 < 500] = (200, 60, 40)
    return image.clip(0, 255).astype(np.uint8)


def noisy(image: Pixels, sigma: float, seed: int = 0) -> Pixels:
    noise = sigma * rng_at(seed, "test noise").normal(image.size).reshape(image.shape)
    return (image + noise).round().clip(0, 255).astype(np.uint8)


def error(image: Pixels, truth: Pixels) -> float:
    return float(np.sqrt(np.square(image.astype(float) - truth).mean()))


def test_transform_is_that_of_scipy() -> None:
    block = rng_at(0, "test block").normal(SIDE * SIDE).reshape(SIDE, SIDE)
    expected = dctn(block, norm="ortho")
    assert (TRANSFORM @ block.ravel()).reshape(SIDE, SIDE) == pytest.approx(expected, abs=1e-5)
    assert pytest.approx(np.eye(3), abs=1e-6) == COLOURS @ COLOURS.T


@pytest.mark.parametrize("sigma", [10.0, 25.0, 40.0])
def test_level_is_estimated_and_noise_removed(sigma: float) -> None:
    image = noisy(scene(), sigma)
    assert noise_sigma(image) == pytest.approx(sigma, rel=0.15)
    assert error(denoised(image), scene()) < 0.4 * error(image, scene())


def test_edges_are_closer_than_with_a_mean_filter() -> None:
    image = noisy(scene(), 25.0)
    near = np.zeros(image.shape[:2], bool)
    y, x = np.mgrid[: near.shape[0], : near.shape[1]]
    distance = np.sqrt((x - 40.0) ** 2 + (y - 50.0) ** 2)
    near[np.abs(distance - np.sqrt(500)) < 2] = True
    padded = np.pad(image.astype(float), ((2, 2), (2, 2), (0, 0)), mode="edge")
    mean = np.mean([padded[i : i + 96, j : j + 96] for i in range(5) for j in range(5)], axis=0)
    assert error(denoised(image)[near], scene()[near]) < 0.85 * error(mean[near], scene()[near])


def test_images_without_noise_are_returned_as_they_are() -> None:
    texture = (128 + 30 * rng_at(1, "test noise").normal(96 * 96)).clip(0, 255).astype(np.uint8)
    gray_photo = np.stack([texture.reshape(96, 96) // 2 + shade for shade in (0, 10, 20)], axis=-1)
    for image in (scene(), gray_photo, np.zeros((96, 96, 3), np.uint8), noisy(scene(), 50)[:7, :7]):
        assert denoised(image) is image


@pytest.mark.parametrize("shape", [(8, 8), (9, 31), (64, 10), (33, 34)])
def test_any_shape(shape: tuple[int, int]) -> None:
    image = noisy(np.full((*shape, 3), 128, np.uint8), 30.0)
    found = denoised(image)
    assert found.shape == image.shape
    assert error(found, np.full_like(image, 128)) < 0.6 * error(image, np.full_like(image, 128))
