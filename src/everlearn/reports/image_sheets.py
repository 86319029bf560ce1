"""Contact sheets: images on a page, and the training images of a task by label and factor."""

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
from everlearn.files import check_output
from everlearn.rng import FloatArray
from everlearn.streams.stream import Batch, Task

Images = npt.NDArray[np.uint8]

BACKGROUND, TEXT_COLOR = (255, 255, 255), (96, 96, 96)
MARGIN = 16
TEXT_SIZE = 14
HEADING_HEIGHT = 24
GROUP_GAP = 3
"""Gap between groups of columns, in gaps between columns."""
MAX_PIXELS = 2**26
MAX_ROWS = 10
TILE_SIZE = 64
N_VALUES, N_MIXED, N_WITHOUT_FACTORS = 5, 3, 12
"""Images per factor, with all factors varying, and of a task without known factors."""


class Heading(NamedTuple):
    """A heading above a group of columns, which has a larger gap around it."""

    text: str
    n_columns: int


def image_sheet(
    images: Images,
    *,
    columns: int,
    gap: int = 4,
    upscale: int = 1,
    captions: Sequence[str] = (),
    headings: Sequence[Heading] = (),
) -> Image.Image:
    """Images on one page, row by row.

    Args:
        images: (n, H, W) gray or (n, H, W, 3) colour.
        columns: images in a row.
        gap: pixels between images.
        upscale: factor by which images are enlarged, without smoothing.
        captions: text to the left of each row.
        headings: headings of groups of columns; together they cover all columns.

    Example:
        >>> image_sheet(np.zeros((6, 8, 8), np.uint8), columns=3, gap=2).size
        (60, 50)
    """
    check_range("columns", columns, 1, 4096)
    check_range("gap", gap, 0, 256)
    check_range("upscale", upscale, 1, 64)
    _check_images(images)
    layout = _Layout.compute(images.shape, columns, gap, upscale, captions, headings)
    page = np.empty((*layout.size[::-1], 3), np.uint8)
    page[:] = BACKGROUND
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        tile = _enlarge(image, upscale)
        x, y = layout.lefts[column], layout.tops[row]
        page[y : y + tile.shape[0], x : x + tile.shape[1]] = tile
    page_image = Image.fromarray(page)
    _draw_text(ImageDraw.Draw(page_image), layout, captions, headings)
    return page_image


def save(image: Image.Image | Sequence[Image.Image], path: Path | str, *, frame_ms: int = 50) -> Path:
    """Write an image (.png) or an endless animation (.gif).

    Args:
        image: an image, or the frames of an animation.
        path: the file; its folder must exist.
        frame_ms: duration of a frame in milliseconds.
    """
    path, pages = Path(path), [image] if isinstance(image, Image.Image) else list(image)
    check_image_path(path, animated=not isinstance(image, Image.Image))
    encoded = _gif(pages, frame_ms) if path.suffix.lower() == ".gif" else _png(pages[0])
    files.write(path, encoded)
    return path


def check_image_path(path: Path, *, animated: bool) -> None:
    """Raise `BadInput` unless an image (or an animation) can be written to a path."""
    check_output(path, [".gif" if animated else ".png"])


class _Layout(NamedTuple):
    """Positions on the page in pixels."""

    size: tuple[int, int]
    lefts: list[int]
    tops: list[int]
    tile: int

    @classmethod
    def compute(
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
        _check_text(n_rows, columns, captions, headings)
        last_of_group = set(accumulate(heading.n_columns for heading in headings))
        steps = [width + (gap * GROUP_GAP if c in last_of_group else gap) for c in range(1, columns)]
        lefts = list(accumulate(steps, initial=MARGIN + _caption_width(captions)))
        tops = [MARGIN + (HEADING_HEIGHT if headings else 0) + row * (height + gap) for row in range(n_rows)]
        size = lefts[-1] + width + MARGIN, tops[-1] + height + MARGIN
        if size[0] * size[1] > MAX_PIXELS:
            raise BadInput(
                f"a page of {size[0]} x {size[1]} pixels is too large; use fewer or smaller images"
            )
        return cls(size, lefts, tops, height)


def _enlarge(image: Images, upscale: int) -> Images:
    """An RGB image with every pixel repeated."""
    colour = image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    return colour.repeat(upscale, axis=0).repeat(upscale, axis=1)


def _check_images(images: Images) -> None:
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or not images.size:
        raise BadInput(
            f"images are {images.dtype} of shape {images.shape}; give uint8 (n, H, W) or (n, H, W, 3)"
        )


def _check_text(n_rows: int, columns: int, captions: Sequence[str], headings: Sequence[Heading]) -> None:
    if captions and len(captions) != n_rows:
        raise BadInput(f"there are {len(captions)} captions for {n_rows} rows; give one per row")
    covered = sum(heading.n_columns for heading in headings)
    if headings and covered != columns:
        raise BadInput(f"the headings cover {covered} of {columns} columns; they must cover all columns")


def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(TEXT_SIZE)


def _caption_width(captions: Sequence[str]) -> int:
    font = _font()
    return max((int(font.getlength(text)) + MARGIN for text in captions), default=0)


def _draw_text(
    draw: ImageDraw.ImageDraw, layout: _Layout, captions: Sequence[str], headings: Sequence[Heading]
) -> None:
    font = _font()
    for top, text in zip(layout.tops, captions, strict=False):
        draw.text((MARGIN, top + layout.tile // 2), text, fill=TEXT_COLOR, font=font, anchor="lm")
    firsts = accumulate((heading.n_columns for heading in headings), initial=0)
    for first, heading in zip(firsts, headings, strict=False):
        draw.text((layout.lefts[first], MARGIN), heading.text, fill=TEXT_COLOR, font=font, anchor="la")


def _png(page: Image.Image) -> bytes:
    file = io.BytesIO()
    page.save(file, "PNG", optimize=True)
    return file.getvalue()


def _gif(pages: Sequence[Image.Image], frame_ms: int) -> bytes:
    """An animation with one palette for all frames, without which flat colours flicker."""
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


def contact_sheet(task: Task, *, max_rows: int = MAX_ROWS) -> Image.Image:
    """A page with a row for each label: the exemplar, then training images in which one factor varies.

    For each label the training images with the nearest factors are shown; the first training images if no
    factor is known to vary.

    Args:
        task: the task.
        max_rows: maximum number of labels.
    """
    # A label of a blurry task may have test images only.
    labels = np.unique(task.train.labels)[:max_rows].tolist()
    groups = _groups(task.train.factors)
    columns = sum(heading.n_columns for heading, _ in groups)
    rows = [_row(task.train, label, [targets for _, targets in groups]) for label in labels]
    headings = [heading for heading, _ in groups]
    exemplars = [task.exemplars.images[task.exemplars.labels == label][:1] for label in labels]
    if all(len(exemplar) for exemplar in exemplars):
        rows = [np.concatenate(pair) for pair in zip(exemplars, rows, strict=True)]
        headings, columns = [Heading("canonical", 1), *headings], columns + 1
    images = _shrink(np.concatenate(rows))
    return image_sheet(
        images,
        columns=columns,
        upscale=max(1, TILE_SIZE // images.shape[1]),
        captions=[f"label {label}" for label in labels],
        headings=headings,
    )


def _groups(factors: Factors | None) -> list[tuple[Heading, Factors | int]]:
    """Groups of columns: a heading with the target factors, or with a number of images."""
    varying = [] if factors is None else list(_varying(factors))
    if not varying:
        return [(Heading("training images", N_WITHOUT_FACTORS), N_WITHOUT_FACTORS)]
    single = [(Heading(name, len(targets)), targets) for name, targets in varying]
    return [*single, (Heading("all factors", N_MIXED), N_MIXED)]


def _varying(factors: Factors) -> Iterator[tuple[str, Factors]]:
    """The factors that vary: some of their values, with all other factors canonical."""
    for name in (*FACTOR_NAMES, "colour"):
        found = np.unique(getattr(factors, name), axis=0)
        if len(found) > 1:
            n = min(N_VALUES, len(found))
            yield name, Factors(**{name: found[np.linspace(0, len(found) - 1, n).astype(int)]})


def _row(train: Batch, label: int, groups: list[Factors | int]) -> Images:
    """The images of one label in each group: those nearest to target factors, or the first ones."""
    own = train[train.labels == label]
    chosen = [
        _nearest(own, targets) if isinstance(targets, Factors) else np.arange(targets) % len(own)
        for targets in groups
    ]
    return own.images[np.concatenate(chosen)]


def _nearest(batch: Batch, targets: Factors) -> npt.NDArray[np.intp]:
    assert batch.factors is not None  # noqa: S101 # there are targets only if factors are known
    differences = _coordinates(targets)[:, None] - _coordinates(batch.factors)[None]
    return np.asarray((differences**2).sum(axis=2).argmin(axis=1))


def _coordinates(factors: Factors) -> FloatArray:
    """Factors as points of a space in which angles are circular."""
    columns = [factors.scale, np.cos(factors.angle), np.sin(factors.angle), factors.x, factors.y]
    return np.column_stack([*columns, factors.colour])


def _shrink(images: Images) -> Images:
    """Large images, shrunk by averaging blocks of pixels."""
    block = max(1, images.shape[1] // TILE_SIZE)
    n, height, width = images.shape[0], images.shape[1] // block, images.shape[2] // block
    cut = images[:, : height * block, : width * block]
    blocks = cut.reshape(n, height, block, width, block, *images.shape[3:])
    return np.asarray(blocks.mean(axis=(2, 4)).round(), dtype=np.uint8)
