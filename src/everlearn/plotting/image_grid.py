"""Grids of small images on axes."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from everlearn.plotting.axes import Axes, FigureBase

Image = npt.NDArray[np.uint8]

COLUMNS = 3
"""Grids in a row."""
ROW_HEIGHT, TITLE_HEIGHT = 0.2, 0.34
"""Inches of a row of small images, and of the title above them."""
GAP_GRAY = 160
"""Gray of the gaps, visible on light and dark backgrounds."""


def add_gaps(image: Image, n_rows: int, n_columns: int) -> Image:
    """An image of tiles with gray gaps between and around them, (H, W, 3)."""
    height, width = image.shape[0] // n_rows, image.shape[1] // n_columns
    gap = max(1, height // 16)
    page = np.full((n_rows * (height + gap) + gap, n_columns * (width + gap) + gap, 3), GAP_GRAY, np.uint8)
    colored = np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image
    for row, column in np.ndindex(n_rows, n_columns):
        tile = colored[row * height : (row + 1) * height, column * width : (column + 1) * width]
        y, x = gap + row * (height + gap), gap + column * (width + gap)
        page[y : y + height, x : x + width] = tile
    return page


def n_square_tiles(image: Image, n_rows: int) -> int:
    """The number of square tiles in each row of an image."""
    height, width = image.shape[:2]
    return int(width // (height // n_rows))


def grids_height(n_grids: int, n_rows: int) -> float:
    """Inches of n grids with this many rows of images each."""
    return math.ceil(n_grids / COLUMNS) * (TITLE_HEIGHT + ROW_HEIGHT * n_rows)


def add_grids(figure: FigureBase, n: int) -> list[Axes]:
    """Axes for n grids, three in a row; hidden until `show_grid`."""
    panels = figure.subplots(math.ceil(n / COLUMNS), min(n, COLUMNS), squeeze=False).ravel().tolist()
    for axes in panels:
        axes.set_axis_off()
    return list(panels)


def show_grid(axes: Axes, image: Image) -> None:
    """Show an image on axes without ticks and frame."""
    axes.set_axis_on()
    axes.imshow(image, interpolation="nearest")
    axes.set(xticks=[], yticks=[], anchor="NW")
    axes.spines[:].set_visible(False)


def label_rows(axes: Axes, height: int, names: Sequence[str]) -> None:
    """Label the rows of a grid that is `height` pixels high."""
    axes.set_yticks((np.arange(len(names)) + 0.5) * height / len(names) - 0.5, names, fontsize=6)
    axes.tick_params(length=0)
