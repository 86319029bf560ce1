"""Occluders of one colour are replaced by the background; objects are not."""

import numpy as np
import pytest

from everlearn.recognition.occluders import without_occluder
from everlearn.streams.images.background import PlainBackground
from tests.recognition.things import photo


@pytest.fixture
def image():
    """A thing in the middle of a white image."""
    return np.ascontiguousarray(np.asarray(photo(1, scale=0.5))[..., :3])


def test_band_is_replaced_and_the_rest_is_not_changed(image):
    covered = image.copy()
    covered[:, 90:110] = 100
    found, hidden = without_occluder(covered, PlainBackground.find(covered))
    assert hidden is not None
    assert np.flatnonzero(hidden.any(axis=0)).tolist() == list(range(89, 111))
    background = image[0, 0].astype(int)
    assert (np.abs(found[:, 90:110] - background).max(axis=2) <= 2).mean() > 0.99
    near = np.zeros(image.shape[1], bool)
    near[88:112] = True
    np.testing.assert_array_equal(found[:, ~near], image[:, ~near])


def test_diagonal_band_of_another_colour_is_replaced(image):
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    band = np.abs(x + y - 200) < 12
    covered = np.where(band[..., None], np.array([200, 60, 60], np.uint8), image)
    found, hidden = without_occluder(covered, PlainBackground.find(covered))
    assert hidden is not None
    assert hidden[band].all()
    assert np.abs(found[band].astype(int) - image[0, 0]).max() <= 2


def test_image_without_an_occluder_is_not_changed(image):
    found, hidden = without_occluder(image, PlainBackground.find(image))
    assert hidden is None
    assert found is image


def test_wide_band_does_not_bend_the_background():
    image = np.ascontiguousarray(np.asarray(photo(1, scale=0.8))[..., :3])
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    band = np.abs(x + y - image.shape[0]) < 0.15 * image.shape[0]
    covered = np.where(band[..., None], np.uint8(165), image)
    found, hidden = without_occluder(covered, PlainBackground.find(covered))
    assert hidden is not None
    assert np.abs(found[band].astype(int) - image[0, 0]).max() <= 2


@pytest.mark.parametrize("level", [0, 128])
def test_object_of_one_colour_at_the_border_is_kept(level):
    image = np.full((64, 64, 3), 255, np.uint8)
    image[20:, 10:40] = level
    assert without_occluder(image, PlainBackground.find(image))[1] is None


def test_pattern_at_the_border_is_no_occluder(image):
    covered = image.copy()
    covered[:, 90:110] = np.random.default_rng(0).integers(0, 256, (image.shape[0], 20, 3))
    assert without_occluder(covered, PlainBackground.find(covered))[1] is None


def test_without_a_plain_background_there_is_no_occluder():
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    image[:, 20:30] = 7
    assert without_occluder(image, PlainBackground.find(image))[1] is None


@pytest.mark.parametrize("size", [1, 7])
def test_tiny_images_are_accepted(size):
    image = np.zeros((size, size, 3), np.uint8)
    assert without_occluder(image, PlainBackground.find(image))[1] is None
