"""Thumbnails of images in a terminal."""

from collections.abc import Iterator

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from everlearn.streams.stream import Images

SIDE = 16
GAP = 2
UPPER_HALF = "▀"


class TerminalImages:
    """A row of as many thumbnails as fit; nothing if the terminal has no colours.

    A character is about twice as high as wide, so each shows two pixels: the upper half in the foreground
    colour, the lower half in the background colour.

    Args:
        images: (n, H, W) gray or (n, H, W, 3) colour.
    """

    def __init__(self, images: Images) -> None:
        colour = images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
        self._thumbnails = [_thumbnail(image) for image in colour]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal or console.color_system is None:
            return
        shown = self._thumbnails[: (options.max_width + GAP) // (SIDE + GAP)]
        for y in range(0, SIDE, 2):
            for thumbnail in shown:
                yield from Segment.simplify(_characters(thumbnail[y], thumbnail[y + 1]))
                yield Segment(" " * GAP)
            yield Segment.line()


def _thumbnail(image: Images) -> Images:
    """16 x 16 pixels, each the mean of a block of pixels."""
    cuts = [np.linspace(0, side, SIDE, endpoint=False).astype(int) for side in image.shape[:2]]
    sums = np.add.reduceat(np.add.reduceat(image.astype(np.int64), cuts[0], axis=0), cuts[1], axis=1)
    # A side below 16 has empty blocks, which repeat their neighbour.
    heights, widths = (
        np.maximum(np.diff(cut, append=side), 1) for cut, side in zip(cuts, image.shape[:2], strict=True)
    )
    means = sums / (heights[:, None] * widths)[..., None]
    return np.asarray(means.round(), dtype=np.uint8)


def _characters(upper: Images, lower: Images) -> Iterator[Segment]:
    for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
        yield Segment(UPPER_HALF, Style(color=_hex(above), bgcolor=_hex(below)))


def _hex(colour: list[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
