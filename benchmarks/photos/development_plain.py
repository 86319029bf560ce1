"""A second development set: things whose own image has a plain background, or that are flat graphics.

The photos of shops in `development` fill their image, and its emoji are transparent. Users also teach objects
on a dark or white ground, printed pages and line art. Nothing here is in `new-user`.
"""

import io
from collections.abc import Iterator
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.photos import development
from benchmarks.photos.archives import Pixels, open_zip, package_file, read_image
from benchmarks.photos.objects import ALOI, ETH80
from benchmarks.photos.omniglot import small_characters
from benchmarks.photos.queries import Trial

N_ALOI, N_ETH80, N_CHARACTERS, N_PAGES = 20, 10, 12, 18
GROUNDS = (255, 128, 0, 200, 40)
"""Gray levels behind the cut-outs of ETH-80."""
FONTS = ("DejaVuSans", "DejaVuSerif-Bold", "DejaVuSansMono", "DejaVuSerif-Italic")


@cache
def things() -> dict[str, Pixels]:
    """The 60 things by name, RGB."""
    return {**_objects(), **_cut_outs(), **_characters(), **{f"page {i}": _page(i) for i in range(N_PAGES)}}


def _spread(names: list[str], n: int) -> list[str]:
    return [names[i] for i in np.linspace(0, len(names) - 1, n).astype(int)]


def _objects() -> dict[str, Pixels]:
    fronts = sorted(name for name in open_zip(ALOI).namelist() if name.endswith("/000.webp"))
    return {name.split("/")[1]: read_image(ALOI, name) for name in _spread(fronts, N_ALOI)}


def _cut_outs() -> dict[str, Pixels]:
    files = _spread(sorted(open_zip(ETH80).namelist()), N_ETH80)
    found = {}
    for i, file in enumerate(files):
        rgba = read_image(ETH80, file, "RGBA").astype(np.float32)
        alpha, ground = rgba[..., 3:] / 255, GROUNDS[i % len(GROUNDS)]
        found[file.split("/")[1]] = np.asarray(rgba[..., :3] * alpha + (1 - alpha) * ground, np.uint8)
    return found


def _characters() -> dict[str, Pixels]:
    files = small_characters()
    return {name: read_image(*files[name][0].split(":")) for name in _spread(list(files), N_CHARACTERS)}


def _page(number: int) -> Pixels:
    """A page of digits and letters: its size, font, lines and colours depend on the number."""
    font = package_file("matplotlib", f"mpl-data/fonts/ttf/{FONTS[number % len(FONTS)]}.ttf")
    size, dark = 16 + 5 * (number % 5), 20 + 13 * (number % 7)
    width, height = 320, 200 + 40 * (number % 4)
    light = 160 + np.linspace(0, 90 if number % 2 else 0, width)[None, :, None] * np.ones((height, 1, 3))
    page = Image.fromarray(light.astype(np.uint8))
    draw, face = ImageDraw.Draw(page), ImageFont.truetype(io.BytesIO(font), size)
    for line in range(2 + number % 4):
        words = " ".join(format((number + 7) ** (5 + k) * (line + 3) % 99991, "x") for k in range(3))
        draw.text(
            (12, 12 + line * (size + 10)), words, fill=(dark, dark, dark + 60 * (number % 3)), font=face
        )
    return np.asarray(page)


def trials() -> Iterator[Trial]:
    """Trials as in `development`."""
    return development.trials(of=things)
