"""Contact sheets: images on one page, and the training images of a task by label and factor."""

import io
from collections.abc import Iterator, Sequence
from functools import partial
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
from everlearn.streams.stream import Batch, Images, Task

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
    """A heading above a group of columns, which has a larger gap around it.

    Example:
        >>> headings = [Heading("cats", 2), Heading("dogs", 1)]
        >>> image_sheet(np.zeros((3, 8, 8), np.uint8), columns=3, headings=headings).size
        (72, 64)
    """

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
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or not images.size:
        raise BadInput(
            f"images are {images.dtype} of shape {images.shape}; give uint8 (n, H, W) or (n, H, W, 3)"
        )
    font = ImageFont.load_default(TEXT_SIZE)
    left = MARGIN + max((int(font.getlength(text)) + MARGIN for text in captions), default=0)
    height, width = images.shape[1] * upscale, images.shape[2] * upscale
    lefts = _lefts(left, columns, width, gap, headings)
    tops = _tops(len(images), columns, height, gap, captions, headings)
    size = lefts[-1] + width + MARGIN, tops[-1] + height + MARGIN
    if size[0] * size[1] > MAX_PIXELS:
        raise BadInput(f"a page of {size[0]} x {size[1]} pixels is too large; use fewer or smaller images")
    page = Image.new("RGB", size, BACKGROUND)
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        tile = image.repeat(upscale, axis=0).repeat(upscale, axis=1)
        page.paste(Image.fromarray(tile), (lefts[column], tops[row]))
    write = partial(ImageDraw.Draw(page).text, fill=TEXT_COLOR, font=font)
    for top, caption in zip(tops, captions, strict=False):
        write((MARGIN, top + height // 2), caption, anchor="lm")
    firsts = accumulate((heading.n_columns for heading in headings), initial=0)
    for first, heading in zip(firsts, headings, strict=False):
        write((lefts[first], MARGIN), heading.text, anchor="la")
    return page


def _lefts(left: int, columns: int, width: int, gap: int, headings: Sequence[Heading]) -> list[int]:
    """The left end of each column, with larger gaps between groups."""
    last_of_group = list(accumulate(heading.n_columns for heading in headings))
    if headings and last_of_group[-1] != columns:
        covered = f"the headings cover {last_of_group[-1]} of {columns} columns"
        raise BadInput(f"{covered}; they must cover all columns")
    steps = [width + (gap * GROUP_GAP if c in last_of_group else gap) for c in range(1, columns)]
    return list(accumulate(steps, initial=left))


def _tops(
    n: int, columns: int, height: int, gap: int, captions: Sequence[str], headings: Sequence[Heading]
) -> list[int]:
    """The upper end of each row."""
    n_rows = -(-n // columns)
    if captions and len(captions) != n_rows:
        raise BadInput(f"there are {len(captions)} captions for {n_rows} rows; give one per row")
    return [MARGIN + (HEADING_HEIGHT if headings else 0) + row * (height + gap) for row in range(n_rows)]


def save(image: Image.Image | Sequence[Image.Image], path: Path | str, *, frame_ms: int = 50) -> Path:
    """Write an image (.png), or frames of `frame_ms` milliseconds as an endless animation (.gif).

    Example:
        >>> from tempfile import mkdtemp
        >>> pages = [Image.new("RGB", (8, 8), colour) for colour in ("black", "white")]
        >>> path = save(pages, f"{mkdtemp()}/blinking.gif", frame_ms=500)
        >>> with Image.open(path) as image:
        ...     print(image.n_frames)
        2
    """
    path, pages = Path(path), [image] if isinstance(image, Image.Image) else list(image)
    check_image_path(path, animated=not isinstance(image, Image.Image))
    file = io.BytesIO()
    if path.suffix.lower() == ".gif":
        first, *rest = _with_one_palette(pages)
        first.save(file, "GIF", save_all=True, append_images=rest, duration=frame_ms, loop=0, optimize=False)
    else:
        pages[0].save(file, "PNG", optimize=True)
    files.write(path, file.getvalue())
    return path


def check_image_path(path: Path, *, animated: bool) -> None:
    """Raise `BadInput` unless an image (or an animation) can be written to a path.

    Example:
        >>> from tempfile import mkdtemp
        >>> check_image_path(Path(mkdtemp(), "sheet.gif"), animated=False)
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: cannot write '...sheet.gif'; give a name that ends in .png
    """
    check_output(path, [".gif" if animated else ".png"])


def _with_one_palette(pages: Sequence[Image.Image]) -> list[Image.Image]:
    """Frames of an animation with a common palette, without which flat colours would flicker."""
    if all(red == green == blue for red, green, blue in map(Image.Image.split, pages)):
        return [page.convert("L") for page in pages]
    palette = pages[len(pages) // 2].quantize(256, dither=Image.Dither.NONE)
    return [page.quantize(palette=palette, dither=Image.Dither.NONE) for page in pages]


def contact_sheet(task: Task) -> Image.Image:
    """A page with a row for each label: the exemplar, then training images in which one factor varies.

    For each label the training images with the nearest factors are shown; the first training images if no
    factor is known to vary.

    Example:
        >>> from everlearn.streams import sprites
        >>> sheet = contact_sheet(sprites(image_size=16, factor_values=2, classes_per_task=3).task(0))
        >>> sheet.height  # three rows of 64 pixels, with a heading, gaps and margins
        256
    """
    # A label of a blurry task may have test images only.
    labels = np.unique(task.train.labels)[:MAX_ROWS].tolist()
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
