"""Figures, subfigures and panels, and drawing on axes: series, heatmaps, bars and labels."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.plotting.style import FigureStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure as Figure
    from matplotlib.figure import FigureBase as FigureBase
    from matplotlib.image import AxesImage
else:  # matplotlib is imported when a figure is drawn
    Axes = Axis = QuadMesh = Figure = FigureBase = AxesImage = Any

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T", contravariant=True)

WIDTH = 5.5
"""Inches: the text width of a paper."""
LABEL_HEIGHT = 0.15
"""Inches between labels at the ends of lines."""
MAX_MARKERS = 30
"""Points of a series up to which each has a marker."""
MAX_MESH = 40
"""Rows of a heatmap up to which it is drawn as separate cells."""


class NothingToDraw(BadInput):
    """The data of a figure are missing."""


class PlotSeries(NamedTuple):
    """A curve with a confidence band; NaN where there is no band."""

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


class Bar(NamedTuple):
    """A bar of some length with text beside it."""

    length: float
    text: str


@dataclass(frozen=True)
class FigurePart(Generic[T]):
    """A part of a figure, drawn from data of type T; the docstring of `draw` is its caption."""

    height: Callable[[T], float]  # inches that it needs
    draw: Callable[[FigureBase, T, FigureStyle], None]  # on a figure or subfigure

    @property
    def caption(self) -> str:
        """Description in one line."""
        return (inspect.getdoc(self.draw) or "").partition("\n")[0]


def draw_parts(data: T, style: FigureStyle, *parts: FigurePart[T]) -> Figure:
    """A figure of one or more parts, from top to bottom."""
    heights = [part.height(data) for part in parts]
    figure = empty_figure(sum(heights))
    subfigures: list[FigureBase] = stacked(figure, heights) if len(parts) > 1 else [figure]
    for subfigure, part in zip(subfigures, parts, strict=True):
        part.draw(subfigure, data, style)
    return figure


def stacked(figure: FigureBase, heights: Sequence[float], titles: Sequence[str] = ()) -> list[FigureBase]:
    """Subfigures of these heights, from top to bottom, with titles if given."""
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0].tolist()
    for part, title in zip(parts, titles, strict=False):
        part.suptitle(title, x=0.01, ha="left", fontsize=8)
    return list(parts)


def canvas(
    n: int, *, columns: int = 1, panel_height: float = 2.6, width: float = WIDTH, **share: bool
) -> tuple[Figure, list[Axes]]:
    """A figure with n panels, row by row."""
    figure = empty_figure(canvas_height(n, columns=columns, panel_height=panel_height), width)
    return figure, add_panels(figure, n, columns=columns, **share)


def canvas_height(n: int, *, columns: int = 1, panel_height: float = 2.6) -> float:
    """The height in inches of a figure with n panels."""
    return 0.3 + panel_height * math.ceil(n / min(columns, n))


def empty_figure(height: float, width: float = WIDTH) -> Figure:
    """A figure without axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(min(width, WIDTH), height))
    figure.set_layout_engine("constrained", w_pad=0.07, h_pad=0.07)
    return figure


def add_panels(
    figure: FigureBase, n: int, *, columns: int = 1, share_x: bool = False, share_y: bool = False
) -> list[Axes]:
    """Add n panels to a figure or subfigure, row by row."""
    columns = min(columns, n)
    rows = math.ceil(n / columns)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y).ravel().tolist()
    for axes in grid[n:]:
        axes.set_visible(False)
    return list(grid[:n])


def draw_series(
    axes: Axes, series: Sequence[PlotSeries], style: FigureStyle, *, markers: bool = True, bands: bool = True
) -> None:
    """Lines over the number of tasks learned, with bands where there are several seeds."""
    for number, each in enumerate(series):
        color = style.color(number)
        marker = "o" if markers and len(each.x) <= MAX_MARKERS else ""
        axes.plot(each.x, each.mean, color=color, linestyle=style.linestyle(number), marker=marker)
        if bands and not np.isnan(each.low).all():
            axes.fill_between(each.x, each.low, each.high, color=color, alpha=0.15, linewidth=0)
    axes.grid(axis="y")
    axes.set_xlabel("tasks learned")
    integer_ticks(axes.xaxis)


def integer_ticks(axis: Axis) -> None:
    """Put ticks at integers only, also if few of them are in view."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def unit_y_axis(axes: Axes, label: str, bottom: float = 0.0) -> None:
    """A y axis from 0 to 1, or from `bottom`, which is then part of the label."""
    axes.set_ylim(bottom, 1 + 0.02 * (1 - bottom))
    axes.set_ylabel(f"{label}, from {bottom:g} up" if bottom else label)


def label_lines(axes: Axes, names: Sequence[str], style: FigureStyle) -> None:
    """Write each name at the end of its line, moved so that labels do not overlap."""
    bottom, top = axes.get_ylim()
    ends = []
    for number, (line, name) in enumerate(zip(axes.get_lines(), names, strict=False)):
        y = np.asarray(line.get_ydata(), np.float64)
        if not np.isnan(y).all():
            end = (float(y[~np.isnan(y)][-1]) - bottom) / (top - bottom)
            ends.append((min(max(end, 0.0), 1.0), number, name))  # a line outside is labelled at the border
    ends.sort()
    gap = LABEL_HEIGHT * axes.figure.dpi / axes.bbox.height
    for y_label, (_, number, name) in zip(_spread([end[0] for end in ends], gap), ends, strict=True):
        axes.text(1.02, y_label, name, color=style.color(number), transform=axes.transAxes, va="center")


def _spread(positions: Sequence[float], gap: float) -> list[float]:
    """Increasing positions, moved as little as necessary to be at least a gap apart."""
    clusters: list[tuple[float, int]] = []  # (centre, number of labels)
    for position in positions:
        clusters.append((position, 1))
        while len(clusters) > 1:
            (before, m), (centre, n) = clusters[-2:]
            if centre - before >= gap * (m + n) / 2:
                break
            clusters[-2:] = [((before * m + centre * n) / (m + n), m + n)]
    return [centre + (i - (n - 1) / 2) * gap for centre, n in clusters for i in range(n)]


def draw_score_table(
    axes: Axes, table: FloatArray, n: int, style: FigureStyle, *, with_text: bool
) -> QuadMesh | AxesImage:
    """A score table of n tasks as a heatmap: after task (rows), on task (columns)."""
    heatmap: QuadMesh | AxesImage
    if n <= MAX_MESH:
        edges = np.arange(n + 1) + 0.5
        heatmap = axes.pcolormesh(
            edges, edges, table, vmin=0, vmax=1, cmap=style.colormap, edgecolors=style.background,
            linewidth=0.4,
        )  # fmt: skip
    else:
        extent = (0.5, n + 0.5, n + 0.5, 0.5)
        heatmap = axes.imshow(table, vmin=0, vmax=1, cmap=style.colormap, extent=extent, interpolation="none")
    if with_text:
        for (after, task), score in np.ndenumerate(table):
            if not math.isnan(score):
                text = "1.0" if score > 0.994 else f"{score:.2f}"[1:]
                cell_text(axes, task + 1, after + 1, text, on_light=bool(score > 0.55))
    axes.set_aspect("equal")
    axes.set_ylim(n + 0.5, 0.5)
    axes.set_xlabel("on task")
    axes.spines[:].set_visible(False)
    integer_ticks(axes.xaxis)
    integer_ticks(axes.yaxis)
    return heatmap


def hide_frame(axes: Axes) -> None:
    """Hide the spines and tick marks; tick labels stay."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def cell_text(axes: Axes, x: float, y: float, text: str, *, on_light: bool) -> None:
    """Text in a cell of a heatmap; its color follows the colormap, not the style."""
    color = "#000000" if on_light else "#fefefe"
    axes.text(x, y, text, ha="center", va="center", fontsize=6, color=color)


def draw_bars(
    axes: Axes, title: str, rows: Mapping[int, Sequence[Bar]], style: FigureStyle, full: float | None = None
) -> None:
    """Horizontal bars of each series, given by its number: one, or two of which the second is pale.

    `full` is the length of a full bar (default: the longest); negative lengths count as 0.
    """
    longest = full or max(max(0.0, bar.length) for bars in rows.values() for bar in bars) or 1.0
    for row, (number, bars) in enumerate(rows.items()):
        for side, bar in enumerate(bars):
            y, length = row + (side - (len(bars) - 1) / 2) * 0.36, max(0.0, bar.length)
            height, alpha = 0.6 if len(bars) == 1 else 0.32, 0.45 if side else 1.0
            axes.barh(y, length, height=height, color=style.color(number), alpha=alpha)
            axes.text(length + 0.04 * longest, y, bar.text, va="center", fontsize=6.5)
    axes.set_title(title)
    axes.set_xlim(0, longest * 2.0)  # space for the text
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)


def multiline(name: str) -> str:
    """A name with each part after a comma on its own line."""
    return name.replace(", ", "\n")
