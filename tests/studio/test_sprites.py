"""Any shape under any factors, and code that draws the very same."""

import io

import numpy as np
import pytest
from PIL import Image

from everlearn.studio.sprites import Sprite

from .visits import Studio

SOME = (
    Sprite(),
    Sprite(shape=2**53 - 1, seed=5, scale=0.6, angle=2.5, x=0.2, y=0.9, image_size=64),
    Sprite(shape=9, colour="#3366ff", marker=False, difficulty=0.5, image_size=32),
    Sprite(shape=3, noise=0.1, blur=1.5, clutter=4, occluder=0.1, lighting=0.3, texture=0.2, image_size=48),
)


@pytest.mark.parametrize("sprite", SOME)
def test_the_code_draws_the_image(sprite: Sprite) -> None:
    names: dict[str, object] = {}
    exec(f"{sprite.imports()}\nimages = {sprite.code()}", names)
    images = names["images"]
    assert isinstance(images, np.ndarray)
    assert np.array_equal(images[0], sprite.image())


@pytest.mark.parametrize("sprite", SOME)
def test_the_image_arrives_pixel_by_pixel(studio: Studio, sprite: Sprite) -> None:
    answer = studio.get("/api/sprites/image.png", **sprite.model_dump())
    assert answer.headers["content-type"] == "image/png"
    with Image.open(io.BytesIO(answer.content)) as image:
        assert np.array_equal(np.asarray(image), sprite.image())


def test_the_sheet_begins_with_the_shape(studio: Studio) -> None:
    sheet = Sprite(shape=12).sheet()
    assert sheet.shape == (64, 64, 64)
    assert np.array_equal(sheet[0], Sprite(shape=12, image_size=64).image())
    assert np.array_equal(sheet[63], Sprite(shape=75, image_size=64).image())
    assert studio.get("/api/sprites/sheet.png", shape=2**53 - 1).status_code == 200


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"scale": 0}, "scale"),
        ({"scale": "nan"}, "scale"),
        ({"shape": -1}, "shape"),
        ({"shape": 2**60}, "shape"),
        ({"image_size": 100_000}, "image_size"),
        ({"colour": "red"}, "colour"),
        ({"x": "1e309"}, "x"),
        ({"marker": "perhaps"}, "marker"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(
    studio: Studio, wrong: dict[str, object], word: str
) -> None:
    answer = studio.get("/api/sprites/image.png", **wrong)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f"{word} is ")
