"""Canonical images: what is cut out, of which backgrounds, and what is refused."""

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.canonical import INNER, cut_out, read_image

SIZE = 120
BOX = (30, 20, 90, 60)  # left, top, right, bottom


def scene(background: np.ndarray | int, object_level: int = 40) -> np.ndarray:
    """An object with structure in front of a background."""
    image = np.empty((SIZE, SIZE, 3), np.float64)
    image[:] = background
    left, top, right, bottom = BOX
    y, x = np.mgrid[top:bottom, left:right]
    image[top:bottom, left:right] = (object_level + 30 * np.sin(x / 5) * np.cos(y / 4))[..., None]
    return image.clip(0, 255).astype(np.uint8)


def backgrounds() -> dict[str, np.ndarray | int]:
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    rng = np.random.default_rng(0)
    return {
        "white": 255,
        "gray": 150,
        "uneven light": (140 + 80 * x + 30 * y)[..., None],
        "noise": 200 + rng.normal(0, 8, (SIZE, SIZE, 3)),
    }


@pytest.mark.parametrize("name", backgrounds())
def test_objects_are_cut_out_of_plain_backgrounds(name):
    found = cut_out(read_image(scene(backgrounds()[name])))
    assert found.background == "plain"
    assert np.abs(np.array(found.box) - BOX).max() <= 3
    assert (found.pixels[..., 3] > 0).mean() > 0.9


def test_a_textured_border_is_no_background():
    y, x = np.mgrid[:SIZE, :SIZE]
    found = cut_out(read_image(scene((128 + 100 * np.sin(x / 3) * np.sin(y / 4))[..., None])))
    assert found.background == "none"
    assert found.box == (0, 0, SIZE, SIZE)


def test_transparent_pixels_are_the_background():
    rgba = np.zeros((SIZE, SIZE, 4), np.uint8)
    left, top, right, bottom = BOX
    rgba[top:bottom, left:right] = (200, 10, 10, 255)
    found = cut_out(rgba)
    assert found.background == "transparent"
    assert found.box == BOX
    canonical = found.canonical(64)
    rows, columns = np.nonzero(canonical[..., 3] > 127)
    assert max(np.ptp(rows), np.ptp(columns)) + 1 == round(INNER * 64)
    assert abs(rows.mean() - 31.5) < 1
    assert abs(columns.mean() - 31.5) < 1


def test_canonical_images_do_not_depend_on_position_and_size():
    small = np.full((SIZE, SIZE, 3), 255, np.uint8)
    small[10:50, 5:65] = scene(255)[BOX[1] : BOX[3], BOX[0] : BOX[2]]
    large = np.array(Image.fromarray(scene(255)).resize((3 * SIZE, 3 * SIZE), Image.Resampling.BICUBIC))
    first, second = (cut_out(read_image(each)).canonical(64).astype(int) for each in (small, large))
    assert np.abs(first - second).mean() < 12


def test_files_are_turned_upright(tmp_path):
    image = Image.fromarray(scene(255))
    exif = image.getexif()
    exif[0x0112] = 6  # rotate by 90 degrees to view
    image.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    upright = read_image(tmp_path / "turned.jpg")[..., :3].astype(int)
    assert np.abs(upright - np.rot90(scene(255), -1)).mean() < 5


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (np.zeros((4, 4), np.float32), r"an array .* of float32; give uint8"),
        (np.zeros((4, 4, 2), np.uint8), "give uint8"),
        (np.zeros((0, 4), np.uint8), "give 1 to"),
        ("nowhere.png", "there is no image 'nowhere.png'"),
        (".", "is a folder; give the images in it"),
    ],
)
def test_what_is_no_image_is_refused(image, sentence):
    with pytest.raises(BadInput, match=sentence):
        read_image(image)
