"""Drawn things for tests of recognition: textured shapes that differ in outline, colours and pattern."""

import numpy as np
from PIL import Image

N_THINGS = 8


def thing(number: int, size: int = 96) -> Image.Image:
    """An image with a transparent background."""
    rng = np.random.default_rng(number)
    y, x = np.mgrid[:size, :size] * (2 / size) - 1
    angle, radius = np.arctan2(y, x), np.hypot(x, y)
    outline = 0.75 + 0.2 * np.sin((number % 5 + 2) * angle + rng.uniform(0, 6))
    pattern = np.sin(x * rng.uniform(3, 14) + rng.uniform(0, 6)) * np.sin(
        y * rng.uniform(3, 14) + rng.uniform(0, 6)
    )
    first, second = rng.uniform(20, 235, (2, 3))
    colours = first + (second - first) * (pattern[..., None] > 0) * 0.9
    alpha = np.where(radius < outline, 255, 0)[..., None]
    return Image.fromarray(np.concatenate([colours, alpha], axis=2).astype(np.uint8), "RGBA")


def photo(
    number: int, *, angle: float = 0.0, scale: float = 0.6, x: float = 0.5, y: float = 0.5,
    background: tuple[int, int, int] = (255, 255, 255), gain: float = 1.0, size: int = 200,
) -> np.ndarray:  # fmt: skip
    """A thing in a pose, in front of a background."""
    canvas = Image.new("RGB", (size, size), background)
    drawn = thing(number).resize((round(scale * size),) * 2, Image.Resampling.LANCZOS)
    drawn = drawn.rotate(angle, expand=True, resample=Image.Resampling.BICUBIC)
    place = round((size - drawn.width) * x), round((size - drawn.height) * y)
    canvas.paste(drawn, place, drawn)
    return (np.asarray(canvas) * gain).clip(0, 255).astype(np.uint8)
