"""The query set of a new user: 30 photos and 30 emoji, asked in all poses under nine conditions."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmarks.photos.archives import LazyImages, Pixels, emoji_file, package_file, pixels
from benchmarks.photos.queries import Queries, Trial
from everlearn.rng import Rng, rng_at

Floats = npt.NDArray[np.float64]

PHOTOS = {
    "skimage": (
        "astronaut.png", "camera.png", "cell.png", "chelsea.png", "chessboard_RGB.png", "clock_motion.png",
        "coins.png", "color.png", "horse.png", "ihc.png", "logo.png", "microaneurysms.png", "moon.png",
        "page.png", "phantom.png", "retina.jpg", "text.png",
    ),
    "matplotlib": ("grace_hopper.jpg", "Minduka_Present_Blue_Pack.png"),
    "sklearn": ("flower.jpg",),
}  # fmt: skip
"""Photos that are taught whole."""
HALVED = (
    ("skimage", "coffee.png"), ("skimage", "hubble_deep_field.jpg"), ("skimage", "motorcycle_left.png"),
    ("skimage", "rocket.jpg"), ("sklearn", "china.jpg"),
)  # fmt: skip
"""Wide photos; the left and the right half are two things."""
FOLDERS = {"skimage": "data", "sklearn": "datasets/images", "matplotlib": "mpl-data/sample_data"}
EMOJI = (
    "1f34e", "1f34c", "1f353", "1f955", "1f354", "1f355", "1f369", "1f382", "2615", "1f436",
    "1f431", "1f438", "1f98a", "1f41d", "1f422", "1f419", "1f697", "1f6b2", "2708-fe0f", "1f680",
    "26f5", "1f3b8", "26bd", "1f3c0", "1f511", "1f4a1", "1f4f7", "2602-fe0f", "1f335", "1f33b",
)  # fmt: skip
TEXTURES = ("brick.png", "grass.png", "gravel.png")
"""Photos behind the things; none of them is taught."""
SEEDS, POSES = (0, 1, 2), 4
CANVAS = 256
LONG_SIDE = 180
"""Pixels of the longer side of a thing of scale 1; it then fits on the canvas at any angle."""
SCALES = (0.5, 1.0)
WHITE, GRAY = 255, 128
MAX_SIDE = 512


@cache
def things() -> dict[str, Pixels]:
    """The 60 things by name, RGB or RGBA."""
    files = [(package, file) for package in PHOTOS for file in PHOTOS[package]]
    taught = {file.split(".")[0]: _read(package, file) for package, file in files}
    for package, file in HALVED:
        photo, name = _read(package, file), file.split(".")[0]
        middle = photo.shape[1] // 2
        taught |= {f"{name} left": photo[:, :middle], f"{name} right": photo[:, middle:]}
    return taught | {f"emoji {code}": pixels(emoji_file(code), "RGBA") for code in EMOJI}


def _read(package: str, file: str) -> Pixels:
    photo = pixels(package_file(package, f"{FOLDERS[package]}/{file}"))
    image = Image.fromarray(photo)
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    return np.asarray(image)


@dataclass(frozen=True)
class Pose:
    """Where a thing is on the canvas; `corners` moves its corners, relative to its sides."""

    angle: float
    scale: float
    x: float
    y: float
    corners: tuple[float, ...] = (0.0,) * 8


def random_pose(rng: Rng, number: int, perspective: float = 0.0) -> Pose:
    """A pose; the angles of consecutive numbers are spread all around."""
    turn, size, x, y, *corners = rng.uniform(12)
    angle = 2 * math.pi * (number + turn) / POSES
    low, high = SCALES
    moved = tuple(perspective * (2 * corner - 1) for corner in corners)
    return Pose(angle, low + (high - low) * size, x, y, moved)


def placed(thing: Pixels, pose: Pose) -> Floats:
    """The thing on a transparent canvas (CANVAS, CANVAS, 4), 0..1, premultiplied with its opacity."""
    height, width = thing.shape[:2]
    factor = pose.scale * LONG_SIDE / max(height, width)
    size = max(2, round(width * factor)), max(2, round(height * factor))
    small = Image.fromarray(thing).convert("RGBa" if thing.shape[2] == 4 else "RGB")
    small = small.resize(size, Image.Resampling.LANCZOS, reducing_gap=None)
    rgba = np.dstack([np.asarray(small)[..., :3], _opacity(small)])
    # A transparent border keeps edges smooth.
    layer = Image.fromarray(np.pad(rgba, [(1, 1), (1, 1), (0, 0)]))
    matrix = _coefficients(_corners(size, pose), size)
    canvas = [
        np.asarray(
            band.transform((CANVAS, CANVAS), Image.Transform.PERSPECTIVE, matrix, Image.Resampling.BILINEAR)
        )
        for band in layer.split()
    ]
    return np.dstack(canvas) / 255.0


def _opacity(image: Image.Image) -> Pixels:
    if image.mode == "RGBa":
        return np.asarray(image)[..., 3]
    return np.full(image.size[::-1], 255, np.uint8)


def _corners(size: tuple[int, int], pose: Pose) -> Floats:
    """The four corners of the thing on the canvas."""
    half = np.array(size) / 2
    unit = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float64)
    corners = unit * half + np.reshape(pose.corners, (4, 2)) * 2 * half
    cos, sin = math.cos(pose.angle), math.sin(pose.angle)
    turned = corners @ np.array([[cos, sin], [-sin, cos]])
    low, high = turned.min(axis=0), turned.max(axis=0)
    free = np.maximum(CANVAS - (high - low), 0)
    return turned - low + free * (pose.x, pose.y)


def _coefficients(corners: Floats, size: tuple[int, int]) -> list[float]:
    """Pillow's eight coefficients from the canvas to the image that has a border of one pixel."""
    width, height = size
    source = [(1, 1), (width + 1, 1), (width + 1, height + 1), (1, height + 1)]
    rows, values = [], []
    for (x, y), (u, v) in zip(corners, source, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return list(np.linalg.solve(np.array(rows), np.array(values, np.float64)))


def over(layer: Floats, behind: Floats | float) -> Floats:
    """A premultiplied layer in front of a background, 0..1."""
    return layer[..., :3] + (1 - layer[..., 3:]) * behind


def covered(image: Floats, opacity: Floats, rng: Rng, share: float = 0.3) -> Floats:
    """A gray bar across the thing that hides this share of it."""
    angle, start, level = rng.uniform(3)
    y, x = np.mgrid[:CANVAS, :CANVAS]
    along = x * math.cos(2 * math.pi * angle) + y * math.sin(2 * math.pi * angle)
    low = start * (1 - share)
    first, last = np.quantile(along[opacity > 0.5], [low, low + share])
    return np.where(((along >= first) & (along <= last))[..., None], level, image)


def uneven_light(image: Floats, rng: Rng, darkest: float = 0.3) -> Floats:
    """The image, darker toward one side."""
    angle = 2 * math.pi * rng.uniform(1)[0]
    y, x = (np.mgrid[:CANVAS, :CANVAS] + 0.5) / CANVAS * 2 - 1
    ramp = (x * math.cos(angle) + y * math.sin(angle)) / (abs(math.cos(angle)) + abs(math.sin(angle)))
    return image * (1 - (1 - darkest) * (0.5 + 0.5 * ramp))[..., None]


def noisy(image: Floats, rng: Rng, std: float = 0.1) -> Floats:
    """The image with Gaussian noise on each pixel and channel."""
    return image + std * rng.normal(image.size).reshape(image.shape)


@cache
def _textures() -> tuple[Pixels, ...]:
    return tuple(_read("skimage", file) for file in TEXTURES)


def texture(rng: Rng) -> Floats:
    """A part of a photo of a texture, of the size of the canvas."""
    which, top, left = rng.uniform(3)
    photo = _textures()[int(which * len(TEXTURES))]
    y, x = (int(part * (side - CANVAS)) for part, side in zip((top, left), photo.shape[:2], strict=True))
    return photo[y : y + CANVAS, x : x + CANVAS] / 255.0


Condition = Callable[[Floats, Rng], Floats]
CONDITIONS: dict[str, Condition] = {
    "clean": lambda layer, _: over(layer, 1.0),
    "brightness x0.6": lambda layer, _: 0.6 * over(layer, 1.0),
    "contrast x0.5": lambda layer, _: 0.5 + 0.5 * (over(layer, 1.0) - 0.5),
    "uneven light": lambda layer, rng: uneven_light(over(layer, 1.0), rng),
    "gray background": lambda layer, _: over(layer, GRAY / WHITE),
    "textured background": lambda layer, rng: over(layer, texture(rng)),
    "pixel noise": lambda layer, rng: noisy(over(layer, 1.0), rng),
    "30 % covered": lambda layer, rng: covered(over(layer, 1.0), layer[..., 3], rng),
    "10 % perspective": lambda layer, _: over(layer, 1.0),
}  # fmt: skip


def query(seed: int, condition: str, thing: int, pose: int) -> Pixels:
    """The canvas with a thing in a random pose, as it is asked."""
    number = list(CONDITIONS).index(condition)
    rng = rng_at(seed, "photos: new user", number, thing, pose)
    name = list(things())[thing]
    layer = placed(things()[name], random_pose(rng, pose, 0.1 if "perspective" in condition else 0.0))
    return np.rint(np.clip(CONDITIONS[condition](layer, rng), 0, 1) * 255).astype(np.uint8)


def _queries(seed: int, condition: str, taught: Sequence[int]) -> Queries:
    names, known = list(things()), set(taught)
    keys = [(thing, pose) for thing in range(len(names)) for pose in range(POSES)]
    truths = [names[thing] if thing in known else None for thing, _ in keys]
    return Queries(LazyImages(lambda key: query(*key), [(seed, condition, *key) for key in keys]), truths)


def trials() -> Iterator[Trial]:
    """All things are taught and asked; then half of them are taught, and all are asked."""
    names = list(things())
    for seed in SEEDS:
        half = sorted(rng_at(seed, "photos: taught half").permutation(len(names))[: len(names) // 2].tolist())
        for name, taught in ("all taught", list(range(len(names)))), ("half taught", half):
            asked = partial(_queries, seed, taught=taught)
            images = [things()[names[i]] for i in taught]
            yield Trial(name, seed, images, [names[i] for i in taught], {c: asked(c) for c in CONDITIONS})
