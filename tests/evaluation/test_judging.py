"""A judge of squares and bars: it names them, finds them and does not mind how they are drawn."""

import numpy as np
import pytest

from everlearn.evaluation.image_oracle import Judge, places_of
from everlearn.factors import Factors
from everlearn.rng import rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images


def things(number: int, *, still: bool = False, dark: bool = False, n: int = 200) -> Batch:
    """Squares (0) and bars (1) of 5 pixels on a canvas of 20, whose places run from 0 to 1."""
    rng = rng_at(number, "things")
    left, top = np.full((2, n), 7) if still else rng.integers(2 * n, 16).reshape(2, n)
    labels = np.arange(n) % 2
    images = np.zeros((n, 20, 20), np.uint8)
    for i in range(n):
        high = 5 if labels[i] == 0 else 1
        images[i, top[i] + (5 - high) // 2 : top[i] + (5 + high) // 2, left[i] : left[i] + 5] = 200
    return Batch(255 - images if dark else images, labels, Factors(x=left / 15, y=top / 15))


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge([things(0), things(1, still=True), things(2, dark=True)])


def faint(images: Images) -> Images:
    """A third of the contrast."""
    background = images[:, :1, :1].astype(int)
    return (background + (images - background) // 3).astype(np.uint8)


@pytest.mark.parametrize("drawn", [lambda images: images, faint], ids=["sharp", "faint"])
def test_things_are_named_and_found_however_they_are_drawn(judge: Judge, drawn) -> None:  # type: ignore[no-untyped-def]
    for scene, dark in ((0, False), (2, True)):
        shown = things(9, dark=dark)
        images = drawn(shown.images)
        assert (judge.labels(images, scene) == shown.labels).all()
        assert np.abs(judge.places(images, scene) - places_of(shown)).max() < 0.05
        assert (judge.scenes(images) == scene).mean() > 0.9


def test_resting_things_are_known_by_resting(judge: Judge) -> None:
    assert (judge.scenes(things(9, still=True).images) == 1).all()
    assert [judge.moves(scene) for scene in range(3)] == [True, False, True]
    assert judge.known(0) == {0, 1}


def test_blank_images_are_judged_without_a_complaint(judge: Judge) -> None:
    blank = np.zeros((2, 20, 20), np.uint8)
    assert np.isfinite(judge.places(blank, 0)).all()
    assert judge.labels(blank, 0).tolist() == [judge.labels(blank, 0)[0]] * 2


def test_colour_images_are_judged_too() -> None:
    grey = things(0, n=40)
    colour = Batch(np.repeat(grey.images[..., None], 3, axis=3), grey.labels, grey.factors)
    assert (Judge([colour, colour]).labels(colour.images, 0) == grey.labels).all()
