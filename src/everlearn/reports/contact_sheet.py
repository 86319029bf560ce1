"""A task at a glance: its labels down the page and its factors across."""

import io
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from everlearn import files
from everlearn.errors import BadInput, check_range
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.rng import FloatArray
from everlearn.streams.stream import Batch, Task

Images = npt.NDArray[np.uint8]

PAPER, INK = (255, 255, 255), (96, 96, 96)
MARGIN = 16
TEXT_SIZE = 14
LINE = 24
GROUP_GAP = 3  # gaps between groups of columns, in gaps between columns
MAX_PIXELS = 2**26


class Heading(NamedTuple):
    """A word above some neighbouring columns, which are set a little apart from the others."""

    word: str
    n_columns: int


def sheet(
    images: Images,
    *,
    columns: int,
    gap: int = 4,
    upscale: int = 1,
    captions: Sequence[str] = (),
    headings: Sequence[Heading] = (),
) -> Image.Image:
    """All images on one page, row by row.

    Args:
        images: (n, H, W) gray or (n, H, W, 3) colour.
        columns: images in a row.
        gap: pixels between images.
        upscale: how many times larger each image is shown, without smoothing.
        captions: a word to the left of each row; none if empty.
        headings: words above groups of columns, together as wide as a row; none if empty.

    Example:
        >>> sheet(np.zeros((6, 8, 8), np.uint8), columns=3, gap=2).size
        (60, 50)
    """
    check_range("columns", columns, 1, 4096)
    check_range("gap", gap, 0, 256)
    check_range("upscale", upscale, 1, 64)
    _check_images(images)
    layout = _Layout.of(images.shape, columns, gap, upscale, captions, headings)
    page = np.empty((*layout.size[::-1], 3), np.uint8)
    page[:] = PAPER
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        tile = _enlarged(image, upscale)
        x, y = layout.lefts[column], layout.tops[row]
        page[y : y + tile.shape[0], x : x + tile.shape[1]] = tile
    page_image = Image.fromarray(page)
    _write_words(ImageDraw.Draw(page_image), layout, captions, headings)
    return page_image


def save(image: Image.Image | Sequence[Image.Image], path: Path | str, *, frame_ms: int = 50) -> Path:
    """Write a page (.png) or an animation that repeats for ever (.gif); never leaves half a file.

    Args:
        image: a page, or the pages of an animation.
        path: where to; its folder must exist.
        frame_ms: how long each page of an animation is shown, in milliseconds.
    """
    path, pages = Path(path), [image] if isinstance(image, Image.Image) else list(image)
    check_format(path, moving=not isinstance(image, Image.Image))
    encoded = _gif(pages, frame_ms) if path.suffix.lower() == ".gif" else _png(pages[0])
    files.write(path, encoded)
    return path


def check_format(path: Path, *, moving: bool) -> None:
    """Complain unless a page (or an animation) can be written under this name."""
    wanted = ".gif" if moving else ".png"
    if path.suffix.lower() != wanted:
        what = "an animation" if moving else "a page"
        raise BadInput(f"cannot write {what} to {str(path)!r}; give a name that ends in {wanted}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"cannot write {str(path)!r}; give the name of a file in a folder that exists")


class _Layout(NamedTuple):
    """Where everything goes on the page, in pixels."""

    size: tuple[int, int]
    lefts: list[int]
    tops: list[int]
    tile: int

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        columns: int,
        gap: int,
        upscale: int,
        captions: Sequence[str],
        headings: Sequence[Heading],
    ) -> "_Layout":
        n_images, height, width = shape[0], shape[1] * upscale, shape[2] * upscale
        n_rows = -(-n_images // columns)
        _check_words(n_rows, columns, captions, headings)
        last_of_group = set(accumulate(heading.n_columns for heading in headings))
        steps = [width + (gap * GROUP_GAP if c in last_of_group else gap) for c in range(1, columns)]
        lefts = list(accumulate(steps, initial=MARGIN + _caption_width(captions)))
        tops = [MARGIN + (LINE if headings else 0) + row * (height + gap) for row in range(n_rows)]
        size = lefts[-1] + width + MARGIN, tops[-1] + height + MARGIN
        if size[0] * size[1] > MAX_PIXELS:
            raise BadInput(
                f"a page of {size[0]} x {size[1]} pixels is too large; show fewer or smaller images"
            )
        return cls(size, lefts, tops, height)


def _enlarged(image: Images, upscale: int) -> Images:
    """One image in colour, each pixel `upscale` times as wide and high."""
    colour = image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    return colour.repeat(upscale, axis=0).repeat(upscale, axis=1)


def _check_images(images: Images) -> None:
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or not images.size:
        raise BadInput(
            f"images are {images.dtype} of shape {images.shape}; give uint8 (n, H, W) or (n, H, W, 3)"
        )


def _check_words(n_rows: int, columns: int, captions: Sequence[str], headings: Sequence[Heading]) -> None:
    if captions and len(captions) != n_rows:
        raise BadInput(f"there are {len(captions)} captions for {n_rows} rows; give one for each row")
    covered = sum(heading.n_columns for heading in headings)
    if headings and covered != columns:
        raise BadInput(
            f"the headings cover {covered} columns of {columns}; together they must cover them all"
        )


def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(TEXT_SIZE)


def _caption_width(captions: Sequence[str]) -> int:
    font = _font()
    return max((int(font.getlength(word)) + MARGIN for word in captions), default=0)


def _write_words(
    draw: ImageDraw.ImageDraw, layout: _Layout, captions: Sequence[str], headings: Sequence[Heading]
) -> None:
    font = _font()
    for top, word in zip(layout.tops, captions, strict=False):
        draw.text((MARGIN, top + layout.tile // 2), word, fill=INK, font=font, anchor="lm")
    firsts = accumulate((heading.n_columns for heading in headings), initial=0)
    for first, heading in zip(firsts, headings, strict=False):
        draw.text((layout.lefts[first], MARGIN), heading.word, fill=INK, font=font, anchor="la")


def _png(page: Image.Image) -> bytes:
    file = io.BytesIO()
    page.save(file, "PNG", optimize=True)
    return file.getvalue()


def _gif(pages: Sequence[Image.Image], frame_ms: int) -> bytes:
    """All pages with one palette, because a palette per page makes flat colours flicker."""
    if all(_is_gray(page) for page in pages):
        first, *rest = (page.convert("L") for page in pages)
    else:
        palette = pages[len(pages) // 2].quantize(256, dither=Image.Dither.NONE)
        first, *rest = (page.quantize(palette=palette, dither=Image.Dither.NONE) for page in pages)
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=frame_ms, loop=0, optimize=False)
    return file.getvalue()


def _is_gray(page: Image.Image) -> bool:
    red, green, blue = page.split()
    return red == green == blue


MAX_ROWS = 10
TILE = 64
VALUES_SHOWN = 5
MIXED_SHOWN = 3
PLAIN_SHOWN = 12


def portrait(task: Task, *, max_rows: int = MAX_ROWS) -> Image.Image:
    """A page with a row for each label: its canonical image, then one factor changing at a time.

    Only images that are really in the task are shown: of each label, those training images that come
    nearest to the wished factors. Where no factor is known to vary, the first training images are shown.

    Args:
        task: which task.
        max_rows: labels shown at most.
    """
    # A label of a blurred task may be there only to be tested on.
    labels = np.unique(task.train.labels)[:max_rows].tolist()
    groups = _groups(task.train.factors)
    columns = sum(heading.n_columns for heading, _ in groups)
    rows = [_row(task.train, label, [wish for _, wish in groups]) for label in labels]
    headings = [heading for heading, _ in groups]
    exemplars = [task.exemplars.images[task.exemplars.labels == label][:1] for label in labels]
    if all(len(exemplar) for exemplar in exemplars):
        rows = [np.concatenate(pair) for pair in zip(exemplars, rows, strict=True)]
        headings, columns = [Heading("canonical", 1), *headings], columns + 1
    images = _about_a_tile(np.concatenate(rows))
    return sheet(
        images,
        columns=columns,
        upscale=max(1, TILE // images.shape[1]),
        captions=[f"label {label}" for label in labels],
        headings=headings,
    )


def _groups(factors: Factors | None) -> list[tuple[Heading, Factors | int]]:
    """The groups of columns: a heading with the factors one would like to see, or with a number of images."""
    varying = [] if factors is None else list(_varying(factors))
    if not varying:
        return [(Heading("training images", PLAIN_SHOWN), PLAIN_SHOWN)]
    wished = [(Heading(name, len(wish)), wish) for name, wish in varying]
    return [*wished, (Heading("all together", MIXED_SHOWN), MIXED_SHOWN)]


def _varying(factors: Factors) -> Iterator[tuple[str, Factors]]:
    """The factors that have several values: each alone away from its canonical one."""
    for name in (*FACTOR_NAMES, "colour"):
        found = np.unique(getattr(factors, name), axis=0)
        if len(found) > 1:
            yield name, Factors(**{name: _spread(found)})


def _spread(found: FloatArray) -> FloatArray:
    """A few of the values that occur, from the first to the last."""
    n = min(VALUES_SHOWN, len(found))
    return np.asarray(found[np.linspace(0, len(found) - 1, n).astype(int)])


def _row(train: Batch, label: int, wishes: list[Factors | int]) -> Images:
    """The images of one label that fulfil the wishes best."""
    own = train[train.labels == label]
    picks = [_nearest(own, wish) if isinstance(wish, Factors) else _some(own, wish) for wish in wishes]
    return own.images[np.concatenate(picks)]


def _some(batch: Batch, n: int) -> npt.NDArray[np.intp]:
    return np.arange(n) % len(batch)


def _nearest(batch: Batch, wish: Factors) -> npt.NDArray[np.intp]:
    assert batch.factors is not None  # noqa: S101 # wishes are only made where factors are known
    apart = _place(wish)[:, None] - _place(batch.factors)[None]
    return np.asarray((apart**2).sum(axis=2).argmin(axis=1))


def _place(factors: Factors) -> FloatArray:
    """Where factors lie in a space in which a full turn leads back to the start."""
    columns = [factors.scale, np.cos(factors.angle), np.sin(factors.angle), factors.x, factors.y]
    return np.column_stack([*columns, factors.colour])


def _about_a_tile(images: Images) -> Images:
    """Large images, shrunk by averaging whole blocks of pixels."""
    block = max(1, images.shape[1] // TILE)
    n, height, width = images.shape[0], images.shape[1] // block, images.shape[2] // block
    cut = images[:, : height * block, : width * block]
    blocks = cut.reshape(n, height, block, width, block, *images.shape[3:])
    return np.asarray(blocks.mean(axis=(2, 4)).round(), dtype=np.uint8)
