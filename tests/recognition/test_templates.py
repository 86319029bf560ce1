"""Templates find an exemplar, and its pose, in front of a pattern."""

import numpy as np
import pytest

from everlearn.recognition import templates
from everlearn.recognition.templates import CELL, N_CELLS, N_ORIENTATIONS, TemplateSearch

from .things import thing

N = 6
ANGLES = templates.template_angles(upright=False)


@pytest.fixture(scope="module")
def search() -> TemplateSearch:
    return TemplateSearch(
        np.stack([templates.templates_of(np.array(thing(i, 128)), ANGLES) for i in range(N)])
    )


def in_front_of_a_pattern(number: int, turn: int, left: int, top: int, side: int = 96) -> np.ndarray:
    """A thing, turned by a multiple of 90 degrees, on a mosaic (192, 240, 3)."""
    tiles = np.random.default_rng(0).integers(60, 220, (16, 20, 3), np.uint8)
    image = tiles.repeat(12, axis=0).repeat(12, axis=1)
    rgba = np.rot90(np.array(thing(number, side)), turn)
    part = image[top : top + side, left : left + side]
    part[rgba[..., 3] > 127] = rgba[rgba[..., 3] > 127][:, :3]
    return image


@pytest.mark.parametrize(("number", "turn", "left", "top"), [(0, 0, 20, 60), (3, 1, 120, 10), (5, 3, 70, 80)])
def test_a_thing_is_found(search: TemplateSearch, number: int, turn: int, left: int, top: int) -> None:
    image = in_front_of_a_pattern(number, turn, left, top)
    found, boxes = templates.windows(image)
    _, row, angle, box = search.search(found, boxes, np.arange(N), found.mean(axis=0))[0]
    assert row == number
    assert ANGLES[angle] == pytest.approx(turn * np.pi / 2, abs=0.3)
    assert (box[0] + box[2]) / 2 == pytest.approx(left + 48, abs=12)
    assert (box[1] + box[3]) / 2 == pytest.approx(top + 48, abs=12)


def test_windows_near_a_box_have_its_coordinates(search: TemplateSearch) -> None:
    image = in_front_of_a_pattern(3, 0, 100, 40)
    near = templates.windows_near(image, (100, 40, 196, 136))
    box = search.search(*near, np.arange(N))[0][3]
    np.testing.assert_allclose(box, (100, 40, 196, 136), atol=16)


def test_channels_of_an_edge() -> None:
    image = np.full((16, 16, 3), 50, np.float32)
    image[:, 8:] = (150, 50, 50)
    cells = templates.channels(image)
    assert cells.shape == (4, 4, N_ORIENTATIONS + 3)
    assert cells[1, 1, 0] > 0.3  # a horizontal gradient
    assert cells[1, 1, 1:N_ORIENTATIONS].max() == 0
    assert cells[0, 3, N_ORIENTATIONS] > 0.1  # more red than the mean of all colours
    assert cells[0, 0, N_ORIENTATIONS:].max() == pytest.approx(0, abs=1e-6)


def test_cells_outside_the_object_do_not_count() -> None:
    exemplar = np.zeros((128, 128, 4), np.uint8)
    exemplar[8:120, 52:76] = (200, 90, 40, 255)
    template = templates.templates_of(exemplar, [0.0]).reshape(N_CELLS, N_CELLS, -1)
    assert not template[:, :3].any()
    assert template[:, 5:7].any()


def test_an_object_must_fill_a_window() -> None:
    found, boxes = templates.windows(np.zeros((60, 200, 3), np.uint8))
    sides = boxes[:, 3] - boxes[:, 1]
    assert len(found) == len(boxes)
    assert sides.max() <= 60
    assert sides.min() >= 60 / 3.2 - CELL
