"""Pictures made of letters, for terminals that know colours."""

from collections.abc import Iterator

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from everlearn.reports.sheets import Pictures

SIDE = 16
GAP = 2
UPPER_HALF = "▀"


class Mosaic:
    """As many small pictures in a row as fit; nothing where colours cannot be shown.

    A letter is about twice as high as wide, so each shows two pixels: its upper half in the ink's colour,
    its lower half in the paper's.

    Args:
        images: (n, H, W) gray or (n, H, W, 3) colour.
    """

    def __init__(self, images: Pictures) -> None:
        colour = images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
        self._tiles = [_shrunk(image) for image in colour]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal or console.color_system is None:
            return
        tiles = self._tiles[: (options.max_width + GAP) // (SIDE + GAP)]
        for y in range(0, SIDE, 2):
            for tile in tiles:
                yield from Segment.simplify(_letters(tile[y], tile[y + 1]))
                yield Segment(" " * GAP)
            yield Segment.line()


def _shrunk(image: Pictures) -> Pictures:
    """A picture of 16 x 16 pixels, each the mean of those it stands for."""
    cut = [np.linspace(0, side, SIDE, endpoint=False).astype(int) for side in image.shape[:2]]
    sums = np.add.reduceat(np.add.reduceat(image.astype(np.int64), cut[0], axis=0), cut[1], axis=1)
    # A side below 16 has places that stand for no pixel of their own; they repeat their neighbour's.
    heights, widths = (
        np.maximum(np.diff(c, append=side), 1) for c, side in zip(cut, image.shape[:2], strict=True)
    )
    means = sums / (heights[:, None] * widths)[..., None]
    return np.asarray(means.round(), dtype=np.uint8)


def _letters(upper: Pictures, lower: Pictures) -> Iterator[Segment]:
    for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
        yield Segment(UPPER_HALF, Style(color=_hex(above), bgcolor=_hex(below)))


def _hex(colour: list[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
