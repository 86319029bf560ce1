"""The oracle on squares and bars, sharp and faint."""

import numpy as np
import pytest

from everlearn.evaluation.image_oracle import ImageOracle, positions_of
from everlearn.factors import Factors
from everlearn.rng import rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images


def shapes(seed: int, *, still: bool = False, dark: bool = False, n: int = 200) -> Batch:
    """Squares (0) and bars (1) of 5 pixels in images of 20, at positions from 0 to 1."""
    rng = rng_at(seed, "things")
    left, top = np.full((2, n), 7) if still else rng.integers(2 * n, 16).reshape(2, n)
    labels = np.arange(n) % 2
    images = np.zeros((n, 20, 20), np.uint8)
    for i in range(n):
        high = 5 if labels[i] == 0 else 1
        images[i, top[i] + (5 - high) // 2 : top[i] + (5 + high) // 2, left[i] : left[i] + 5] = 200
    return Batch(255 - images if dark else images, labels, Factors(x=left / 15, y=top / 15))


@pytest.fixture(scope="module")
def oracle() -> ImageOracle:
    return ImageOracle([shapes(0), shapes(1, still=True), shapes(2, dark=True)])


def faint(images: Images) -> Images:
    """A third of the contrast."""
    background = images[:, :1, :1].astype(int)
    return (background + (images - background) // 3).astype(np.uint8)


@pytest.mark.parametrize("render", [lambda images: images, faint], ids=["sharp", "faint"])
def test_labels_positions_and_environments(oracle: ImageOracle, render) -> None:  # type: ignore[no-untyped-def]
    for environment, dark in ((0, False), (2, True)):
        batch = shapes(9, dark=dark)
        images = render(batch.images)
        assert (oracle.labels(images, environment) == batch.labels).all()
        assert np.abs(oracle.positions(images, environment) - positions_of(batch)).max() < 0.05
        assert (oracle.environments(images) == environment).mean() > 0.9


def test_environment_without_motion(oracle: ImageOracle) -> None:
    assert (oracle.environments(shapes(9, still=True).images) == 1).all()
    assert oracle.has_motion == [True, False, True]
    assert oracle.known_labels[0].tolist() == [0, 1]


def test_blank_images(oracle: ImageOracle) -> None:
    blank = np.zeros((2, 20, 20), np.uint8)
    assert np.isfinite(oracle.positions(blank, 0)).all()
    assert oracle.labels(blank, 0).tolist() == [oracle.labels(blank, 0)[0]] * 2


def test_colour_images() -> None:
    grey = shapes(0, n=40)
    colour = Batch(np.repeat(grey.images[..., None], 3, axis=3), grey.labels, grey.factors)
    assert (ImageOracle([colour, colour]).labels(colour.images, 0) == grey.labels).all()
