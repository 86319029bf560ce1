"""Alignment recovers a known transform under light, noise and occlusion; it does not explain other things."""

import numpy as np
import pytest

from everlearn.recognition.gallery import Exemplar, Pyramid
from everlearn.streams.images.denoise import denoised

from .things import thing

SIZE = 128


@pytest.fixture(scope="module")
def exemplar() -> Exemplar:
    return Exemplar(np.array(thing(3, SIZE)))


def warped(
    exemplar: Exemplar, transform: np.ndarray, background: float = 200.0, size: int = 180
) -> np.ndarray:
    """An image of the exemplar under a transform from its frame (-1 to 1) to pixels."""
    y, x = np.mgrid[:size, :size]
    u, v, w = np.einsum(
        "ij,jhw->ihw", np.linalg.inv(transform), np.stack([x, y, np.ones_like(x)]).astype(float)
    )
    column = np.rint((u / w + 1) * SIZE / 2 - 0.5).astype(int)
    row = np.rint((v / w + 1) * SIZE / 2 - 0.5).astype(int)
    inside = (column >= 0) & (column < SIZE) & (row >= 0) & (row < SIZE)
    image = np.full((size, size, 3), background)
    sampled = exemplar.pixels[row.clip(0, SIZE - 1), column.clip(0, SIZE - 1)]
    shown = inside & (sampled[..., 3] > 127)
    image[shown] = sampled[shown][:, :3]
    return image


TRUE = np.array([[48.0, 18.0, 92.0], [-20.0, 50.0, 85.0], [0.06, -0.04, 1.0]])  # with perspective
START = np.array([[50.0, 14.0, 94.0], [-14.0, 50.0, 83.0], [0.0, 0.0, 1.0]])  # 5 degrees, 2 pixels off
CORNERS = np.array([[-0.5, -0.5, 1], [0.5, -0.5, 1], [0.5, 0.5, 1], [-0.5, 0.5, 1]]).T


def corner_error(found: np.ndarray) -> float:
    """The largest distance of the corners of a square from their true positions, in pixels."""
    there, truth = (m @ CORNERS / (m @ CORNERS)[2] for m in (found, TRUE))
    return float(np.hypot(*(there - truth)[:2]).max())


@pytest.mark.parametrize("condition", ["plain", "light", "noise", "covered", "other background"])
def test_the_transform_is_recovered(exemplar: Exemplar, condition: str) -> None:
    image = warped(exemplar, TRUE, 60.0 if condition == "other background" else 200.0)
    x = np.mgrid[:180, :180][1] / 180 - 0.5
    if condition == "light":
        image = image * (0.6 + 0.3 * x)[..., None] + 20
    if condition == "noise":
        image = image + np.random.default_rng(0).normal(0, 15, image.shape)
    if condition == "covered":
        image[:, 110:140] = 128
    pyramid = Pyramid(denoised(image.clip(0, 255).astype(np.uint8)))
    explained, found = exemplar.align(pyramid, START)
    assert corner_error(found) < {"noise": 5, "covered": 8}.get(condition, 2.5)
    assert explained > 0.25


def test_coloured_light_is_explained(exemplar: Exemplar) -> None:
    """Each channel has a gain and an offset of its own; a gray world and another thing have not."""
    image = warped(exemplar, TRUE)
    white = exemplar.align(Pyramid(image.astype(np.uint8)), START)[0]
    warm = image * [0.95, 0.75, 0.5] + [0, 10, 25]
    explained, found = exemplar.align(Pyramid(warm.clip(0, 255).astype(np.uint8)), START)
    assert corner_error(found) < 2.5
    assert explained > 0.75 * white  # with common gain and offset: 0.61
    swapped = image[..., [2, 0, 1]]  # the same outline and pattern in other colours
    assert exemplar.align(Pyramid(swapped.astype(np.uint8)), START)[0] < 0.8 * white


def test_another_thing_is_not_explained(exemplar: Exemplar) -> None:
    other = Exemplar(np.array(thing(6, SIZE)))
    image = Pyramid(warped(exemplar, TRUE).astype(np.uint8))
    assert other.align(image, START)[0] < 0.5 * exemplar.align(image, START)[0]


def test_a_pose_far_from_its_template_is_refused(exemplar: Exemplar) -> None:
    image = Pyramid(warped(exemplar, TRUE).astype(np.uint8))
    far = START.copy()
    far[:2, 2] = 60.0, 120.0
    assert exemplar.align(image, far)[0] == pytest.approx(0.0, abs=0.1)


def test_hidden_pixels_do_not_count(exemplar: Exemplar) -> None:
    """A white occluder hides a third, and would dominate the contrast."""
    image = warped(exemplar, TRUE).astype(np.uint8)
    hidden = np.zeros(image.shape[:2], bool)
    hidden[:, 78:108] = True
    image[hidden] = 255
    explained, found = exemplar.align(Pyramid(image, hidden), START)
    assert corner_error(found) < 5
    assert explained > 1.5 * exemplar.align(Pyramid(image), START)[0]
    assert np.isfinite(Pyramid(image).colours[0]).all()


def test_the_best_of_some_starts_is_the_true_one(exemplar: Exemplar) -> None:
    turns = [np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    starts = np.stack([START @ turn for turn in turns[1:] + turns[:1]])
    image = Pyramid(warped(exemplar, START).astype(np.uint8))
    first, second = exemplar.best_starts(image, starts, 2)
    np.testing.assert_array_equal(first, START)
    assert not np.array_equal(second, START)
