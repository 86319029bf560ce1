"""The development set, on which settings of the product are chosen.

It has the same kinds of poses and conditions as `new_user`, but no object and no background in common with
it: 25 photos of shops, 30 other emoji, and other photos of shops as backgrounds.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from PIL import Image

from benchmarks.photos import new_user
from benchmarks.photos.archives import LazyImages, Pixels, emoji_file, open_zip, pixels, read_image
from benchmarks.photos.new_user import CANVAS, CONDITIONS, Condition, Floats, over, placed, random_pose
from benchmarks.photos.objects import GROCERY
from benchmarks.photos.queries import Queries, Trial
from everlearn.rng import Rng, rng_at

N_WHOLE, N_HALVED, N_BACKGROUNDS = 20, 5, 20
"""Photos that are taught whole, those whose left and right half are two things, and backgrounds."""
EMOJI = (
    "1f34a", "1f347", "1f349", "1f352", "1f966", "1f32d", "1f32e", "1f36a", "1f370", "1f375",
    "1f42d", "1f430", "1f43b", "1f43c", "1f98b", "1f40c", "1f41f", "1f68c", "1f699", "1f681",
    "1f682", "1f3bb", "1f3be", "1f3c8", "1f512", "1f526", "1f4bb", "1f453", "1f332", "1f339",
)  # fmt: skip
POSES = 2
"""Poses of each thing; those of `new_user` are drawn with other seeds."""
SEED = 100

Things = Callable[[], dict[str, Pixels]]
"""Gives the things of a set by name."""


@cache
def things() -> dict[str, Pixels]:
    """The 60 things by name, RGB or RGBA: a photo of each of 25 kinds, five of them halved, and emoji."""
    photos = _photos("train")
    kinds = sorted({file.split("/")[2] for file in photos})
    chosen = [kinds[i] for i in np.linspace(0, len(kinds) - 1, N_WHOLE + N_HALVED).astype(int)]
    first = {kind: next(file for file in photos if file.split("/")[2] == kind) for kind in chosen}
    read = {kind: read_image(GROCERY, file) for kind, file in first.items()}
    taught = {kind: read[kind] for kind in chosen[:N_WHOLE]}
    for kind in chosen[N_WHOLE:]:
        middle = read[kind].shape[1] // 2
        taught |= {f"{kind} left": read[kind][:, :middle], f"{kind} right": read[kind][:, middle:]}
    return taught | {f"emoji {code}": pixels(emoji_file(code), "RGBA") for code in EMOJI}


def _photos(split: str) -> list[str]:
    return sorted(name for name in open_zip(GROCERY).namelist() if name.startswith(f"grocery/{split}/"))


@cache
def backgrounds() -> tuple[Floats, ...]:
    """Validation photos, enlarged to the canvas."""
    files = _photos("val")
    files = [files[i] for i in np.linspace(0, len(files) - 1, N_BACKGROUNDS).astype(int)]
    photos = [Image.fromarray(read_image(GROCERY, file)).resize((CANVAS, CANVAS)) for file in files]
    return tuple(np.asarray(photo) / 255.0 for photo in photos)


def _on_photo(layer: Floats, rng: Rng) -> Floats:
    return over(layer, backgrounds()[int(rng.uniform(1)[0] * N_BACKGROUNDS)])


def conditions() -> dict[str, Condition]:
    """The conditions of `new_user`, with other backgrounds."""
    return {**CONDITIONS, "textured background": _on_photo}


def query(seed: int, condition: str, thing: int, pose: int, of: Things | None = None) -> Pixels:
    """The canvas with a thing in a random pose, as it is asked."""
    made = conditions()
    rng = rng_at(seed, "photos: development", list(made).index(condition), thing, pose)
    turned = random_pose(rng, pose, 0.1 if "perspective" in condition else 0.0)
    layer = placed(list((of or things)().values())[thing], turned)
    return np.rint(np.clip(made[condition](layer, rng), 0, 1) * 255).astype(np.uint8)


def halves(seed: int = SEED) -> tuple[list[int], list[int]]:
    """Two random halves of the things: each is taught once, and unknown once."""
    order = rng_at(seed, "photos: development halves").permutation(len(things())).tolist()
    middle = math.ceil(len(order) / 2)
    return sorted(order[:middle]), sorted(order[middle:])


def _queries(condition: str, taught: Sequence[int], of: Things) -> Queries:
    names, known = list(of()), set(taught)
    keys = [(condition, thing, pose, names[thing]) for thing in range(len(names)) for pose in range(POSES)]
    truths = [name if thing in known else None for _, thing, _, name in keys]
    return Queries(LazyImages(lambda key: query(SEED, key[0], key[1], key[2], of), keys), truths)


def trials(chosen: Sequence[str] = (), of: Things | None = None) -> Iterator[Trial]:
    """Each half of the things is taught, and all are asked; under all conditions or some."""
    of = of or things
    names = list(of())
    for number, taught in enumerate(halves()):
        images = [of()[names[i]] for i in taught]
        asked = {c: _queries(c, taught, of) for c in chosen or new_user.CONDITIONS}
        yield Trial("half taught", number, images, [names[i] for i in taught], asked)
