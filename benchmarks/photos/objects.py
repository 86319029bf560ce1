"""Query sets of photographed objects: ALOI (turntable), ETH-80 (on other backgrounds), Grocery (in shops)."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import PurePosixPath

import numpy as np
from PIL import Image

from benchmarks.photos.archives import LazyImages, Pixels, open_zip, package_file, pixels, read_image
from benchmarks.photos.queries import Queries, Trial
from everlearn.rng import rng_at

ALOI, ETH80, GROCERY = "aloi/aloi.zip", "eth80/eth80.zip", "grocery/grocery.zip"
ANGLES = (30, 90, 180)
QUARTERS = (0, 90, 180, 270)
BACKGROUNDS = (
    ("skimage", "data/astronaut.png"), ("skimage", "data/brick.png"), ("skimage", "data/camera.png"),
    ("skimage", "data/chelsea.png"), ("skimage", "data/coffee.png"), ("skimage", "data/grass.png"),
    ("skimage", "data/gravel.png"), ("skimage", "data/motorcycle_left.png"), ("skimage", "data/rocket.jpg"),
    ("sklearn", "datasets/images/china.jpg"), ("sklearn", "datasets/images/flower.jpg"),
)  # fmt: skip
"""Photos behind the cut-outs of ETH-80."""
EXEMPLARS = (1, 4, 8)
SEEDS = (0, 1, 2)


def aloi_trials() -> Iterator[Trial]:
    """One view of each object, asked at three angles."""
    asked = {f"{angle} degrees": aloi_views((angle,)) for angle in ANGLES}
    yield _taught("1 view", 0, aloi_views((0,)), asked)


def aloi_four_trials() -> Iterator[Trial]:
    """Four views of each object, asked at all others."""
    others = tuple(angle for angle in range(0, 360, 10) if angle not in QUARTERS)
    yield _taught("4 views", 0, aloi_views(QUARTERS), {"32 other views": aloi_views(others)})


def _taught(name: str, seed: int, taught: Queries, asked: dict[str, Queries]) -> Trial:
    return Trial(name, seed, taught.images, [name for name in taught.names if name], asked)


def aloi_views(angles: tuple[int, ...]) -> Queries:
    """The views of all objects of ALOI at some angles."""
    things = sorted({PurePosixPath(name).parts[1] for name in open_zip(ALOI).namelist()})
    files = [f"aloi/{thing}/{angle:03d}.webp" for angle in angles for thing in things]
    return Queries(LazyImages(partial(read_image, ALOI), files), list(things) * len(angles))


def eth80_trials() -> Iterator[Trial]:
    """Cut-outs of some views are taught; the other views are asked on photos as background."""
    files: dict[str, list[str]] = {}
    for name in sorted(open_zip(ETH80).namelist()):
        files.setdefault(PurePosixPath(name).parts[1], []).append(name)
    n_views = min(map(len, files.values()))
    for seed in SEEDS:
        order = rng_at(seed, "photos: eth80 views").permutation(n_views)
        for n in EXEMPLARS:
            taught = [(thing, files[thing][view]) for thing in files for view in order[:n]]
            asked = [(thing, files[thing][view]) for thing in files for view in order[n:]]
            yield _taught(f"{n} exemplars", seed, _cut_outs(taught), {"on photos": _on_photos(asked)})


def _cut_outs(keys: Sequence[tuple[str, str]]) -> Queries:
    read = partial(read_image, ETH80, mode="RGBA")
    return Queries(LazyImages(read, [file for _, file in keys]), [thing for thing, _ in keys])


def _on_photos(keys: Sequence[tuple[str, str]]) -> Queries:
    def make(key: tuple[str, int]) -> Pixels:
        return composed(read_image(ETH80, key[0], "RGBA"), background(key[1]))

    files = [(file, sum(file.encode()) % len(BACKGROUNDS)) for _, file in keys]
    return Queries(LazyImages(make, files), [thing for thing, _ in keys])


@cache
def background(number: int, size: int = 128) -> Pixels:
    """The middle square of a photo."""
    photo = Image.fromarray(pixels(package_file(*BACKGROUNDS[number])))
    side = min(photo.size)
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    return np.asarray(
        photo.crop((left, top, left + side, top + side)).resize((size, size), Image.Resampling.LANCZOS)
    )


def composed(cut_out: Pixels, behind: Pixels) -> Pixels:
    """A cut-out (H, W, 4) in front of an image (H, W, 3).

    Example:
        >>> composed(np.full((1, 1, 4), 255, np.uint8), np.zeros((1, 1, 3), np.uint8)).tolist()
        [[[255, 255, 255]]]
    """
    alpha = cut_out[..., 3:].astype(np.float32) / 255
    return np.rint(cut_out[..., :3] * alpha + behind * (1 - alpha)).astype(np.uint8)


def grocery_trials() -> Iterator[Trial]:
    """The iconic image of each kind, or all training photos, are taught; the test photos are asked."""
    asked = {"test photos": _grocery("test")}
    yield _taught("iconic image", 0, _grocery("iconic"), asked)
    yield _taught("training photos", 0, _grocery("train"), asked)


def _grocery(split: str) -> Queries:
    names = [name for name in open_zip(GROCERY).namelist() if name.startswith(f"grocery/{split}/")]
    files = sorted(name for name in names if name.endswith(".webp"))
    kinds = [
        PurePosixPath(file).stem if split == "iconic" else PurePosixPath(file).parts[2] for file in files
    ]
    return Queries(LazyImages(partial(read_image, GROCERY), files), kinds)
