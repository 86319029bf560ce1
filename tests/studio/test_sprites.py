import io

import numpy as np
import pytest
from PIL import Image

from everlearn.studio.sprites import Sprite

from .live_server import Studio

SPRITES = (
    Sprite(),
    Sprite(shape=2**53 - 1, seed=5, scale=0.6, angle=2.5, x=0.2, y=0.9, image_size=64),
    Sprite(shape=9, colour="#3366ff", marker=False, difficulty=0.5, image_size=32),
    Sprite(shape=3, noise=0.1, blur=1.5, clutter=4, occluder=0.1, lighting=0.3, texture=0.2, image_size=48),
)


@pytest.mark.parametrize("sprite", SPRITES)
def test_the_code_and_the_route_give_the_image(shared_studio: Studio, sprite: Sprite) -> None:
    names: dict[str, object] = {}
    exec(f"{sprite.imports()}\nimages = {sprite.code()}", names)
    images = names["images"]
    assert isinstance(images, np.ndarray)
    assert np.array_equal(images[0], sprite.image())
    response = shared_studio.get("/api/sprites/image.png", **sprite.model_dump())
    assert response.headers["content-type"] == "image/png"
    with Image.open(io.BytesIO(response.content)) as image:
        assert np.array_equal(np.asarray(image), sprite.image())


def test_the_contact_sheet_starts_with_the_shape(shared_studio: Studio) -> None:
    sheet = Sprite(shape=12).sheet()
    assert sheet.shape == (64, 64, 64)
    assert np.array_equal(sheet[0], Sprite(shape=12, image_size=64).image())
    assert np.array_equal(sheet[63], Sprite(shape=75, image_size=64).image())
    assert shared_studio.get("/api/sprites/sheet.png", shape=2**53 - 1).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", 0),
        ("scale", "nan"),
        ("shape", -1),
        ("shape", 2**60),
        ("image_size", 100_000),
        ("colour", "red"),
        ("x", "1e309"),
        ("marker", "perhaps"),
    ],
)
def test_invalid_values_are_an_error(shared_studio: Studio, name: str, value: object) -> None:
    response = shared_studio.get("/api/sprites/image.png", **{name: value})
    assert response.status_code == 400
    assert response.json()["error"].startswith(f"{name} is ")
