"""The parts that figures are made of: panels with lines, tables or bars, and names where they belong."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from everlearn.evaluation import Interval, ScoreTable
from everlearn.reports.groups import Group, Line
from everlearn.reports.style import Look
from everlearn.rng import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.image import AxesImage


FINEST = 200
"""Cells in a row of a score table; more could not be told apart on paper."""


def mean_table(tables: Sequence[ScoreTable]) -> FloatArray:
    """Several score tables as one: the mean of what was measured in each cell, NaN where nothing was.

    Of more tasks than a page has room for, neighbouring ones share a cell; no table is made whole.

    Example:
        >>> mean_table([ScoreTable.from_array([[0.5, np.nan], [0.25, 1.0]]), ScoreTable.from_array([[1.0]])])
        array([[0.75,  nan],
               [0.25, 1.  ]])
    """
    n = max((table.n_tasks for table in tables), default=0)
    side = min(n, FINEST)
    sums, counts = np.zeros((2, side, side))
    for row in (row for table in tables for row in table.rows()):
        cells = row.tasks * side // n
        np.add.at(sums[row.after * side // n], cells, row.scores)
        np.add.at(counts[row.after * side // n], cells, 1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


WIDTH = 5.5
"""Inches: the text width of a paper."""
LINE_HEIGHT = 0.15
"""Inches from one name to the next."""
DOTTED = 30
"""Up to so many points each is marked."""
CELLS = 40
"""Up to so many tasks a score table is drawn cell by cell."""


class Part(NamedTuple):
    """A part of a figure: how many inches it needs for some groups, and what puts it there."""

    height: Callable[[Sequence[Group]], float]
    put: "Callable[[FigureBase, Sequence[Group], Look], None]"


def stacked(groups: Sequence[Group], look: Look, *parts: Part) -> "Figure":
    """A figure of some parts, one below the other."""
    heights = [part.height(groups) for part in parts]
    figure = blank(sum(heights))
    places = [figure]
    if len(parts) > 1:
        places = figure.subfigures(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0].tolist()
    for place, part in zip(places, parts, strict=True):
        part.put(place, groups, look)
    return figure


def canvas(
    n: int,
    *,
    columns: int = 1,
    panel_height: float = 2.6,
    width: float = WIDTH,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple["Figure", list["Axes"]]:
    """A figure with n panels, row by row."""
    figure = blank(0.3 + panel_height * math.ceil(n / min(columns, n)), width)
    return figure, panels_on(figure, n, columns=columns, share_x=share_x, share_y=share_y)


def blank(height: float, width: float = WIDTH) -> "Figure":
    """A figure with nothing on it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(min(width, WIDTH), height))
    figure.set_layout_engine("constrained", w_pad=0.07, h_pad=0.07)
    return figure


def panels_on(
    figure: "FigureBase", n: int, *, columns: int = 1, share_x: bool = False, share_y: bool = False
) -> list["Axes"]:
    """Put n panels on a figure or a part of one, row by row."""
    columns = min(columns, n)
    rows = math.ceil(n / columns)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y).ravel().tolist()
    for axes in grid[n:]:
        axes.set_visible(False)
    return list(grid[:n])


def draw_lines(
    axes: "Axes", lines: Sequence[Line], look: Look, *, marks: bool = True, bands: bool = True
) -> None:
    """A line for each group over the tasks learned, with a band where there are several seeds.

    Bands are best left out where seeds differ more than groups do: they would hide everything.
    """
    for number, line in enumerate(lines):
        colour = look.colour(number)
        marker = "o" if marks and len(line.x) <= DOTTED else ""
        axes.plot(line.x, line.mean, color=colour, linestyle=look.dash(number), marker=marker)
        if bands and not np.isnan(line.low).all():
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
    axes.grid(axis="y")
    axes.set_xlabel("tasks learned")
    count_along(axes.xaxis)


def count_along(axis: "Axis") -> None:
    """Let an axis count: whole numbers, even where only one or two of them are in view."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def share_axis(axes: "Axes", name: str, bottom: float = 0.0) -> None:
    """Let the y axis run from nothing to all, or from some share on, which is then said."""
    axes.set_ylim(bottom, 1 + 0.02 * (1 - bottom))
    axes.set_ylabel(f"{name}, from {bottom:g} up" if bottom else name)


def name_lines(axes: "Axes", names: Sequence[str], look: Look) -> None:
    """Write each name where its line ends, moved apart as far as needed."""
    bottom, top = axes.get_ylim()
    ends = []
    for number, (line, name) in enumerate(zip(axes.get_lines(), names, strict=False)):
        y = np.asarray(line.get_ydata(), np.float64)
        if not np.isnan(y).all():
            end = (float(y[~np.isnan(y)][-1]) - bottom) / (top - bottom)
            ends.append((min(max(end, 0.0), 1.0), number, name))  # of a line out of sight, at the edge
    ends.sort()
    gap = LINE_HEIGHT * axes.figure.dpi / axes.bbox.height
    for place, (_, number, name) in zip(_apart([end[0] for end in ends], gap), ends, strict=True):
        axes.text(1.02, place, name, color=look.colour(number), transform=axes.transAxes, va="center")


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Rising places, moved as little as needed to lie a gap apart.

    Example:
        >>> [round(place, 3) for place in _apart([0.1, 0.5, 0.52], 0.1)]
        [0.1, 0.46, 0.56]
    """
    clusters: list[list[float]] = []  # [wished centre, number of members]
    for place in places:
        clusters.append([place, 1])
        while len(clusters) > 1 and _touch(clusters[-2], clusters[-1], gap):
            centre, n = clusters.pop()
            before, m = clusters.pop()
            clusters.append([(before * m + centre * n) / (m + n), m + n])
    return [centre + (i - (n - 1) / 2) * gap for centre, n in clusters for i in range(int(n))]


def _touch(lower: Sequence[float], upper: Sequence[float], gap: float) -> bool:
    return upper[0] - lower[0] < gap * (lower[1] + upper[1]) / 2


def draw_table(
    axes: "Axes", table: FloatArray, n: int, look: Look, *, written: bool
) -> "QuadMesh | AxesImage":
    """A score table of n tasks as a heat map: after which task down, on which task across."""
    heat: QuadMesh | AxesImage
    if n <= CELLS:
        edges = np.arange(n + 1) + 0.5
        heat = axes.pcolormesh(
            edges, edges, table, vmin=0, vmax=1, cmap=look.heat, edgecolors=look.paper, linewidth=0.4
        )
    else:
        ends = (0.5, n + 0.5, n + 0.5, 0.5)
        heat = axes.imshow(table, vmin=0, vmax=1, cmap=look.heat, extent=ends, interpolation="none")
    if written:
        _write_scores(axes, table)
    axes.set_aspect("equal")
    axes.set_ylim(n + 0.5, 0.5)
    axes.set_xlabel("on task")
    axes.spines[:].set_visible(False)
    count_along(axes.xaxis)
    count_along(axes.yaxis)
    return heat


def _write_scores(axes: "Axes", table: FloatArray) -> None:
    for (after, task), score in np.ndenumerate(table):
        if not math.isnan(score):
            colour = "#000000" if score > 0.55 else "#fefefe"  # on the colour map, so of no look
            words = "1.0" if score > 0.994 else f"{score:.2f}"[1:]
            axes.text(task + 1, after + 1, words, ha="center", va="center", fontsize=6, color=colour)


def draw_bars(
    axes: "Axes",
    title: str,
    values: Sequence[Interval | None],
    form: Callable[[Interval | None], str],
    look: Look,
    full: float | None = None,
) -> None:
    """A bar for each group with its number beside it; a full bar is the longest, if not said otherwise."""
    lengths = [0.0 if value is None else value.mean for value in values]
    longest = full or max(lengths) or 1.0
    for row, (length, value) in enumerate(zip(lengths, values, strict=True)):
        axes.barh(row, length, height=0.6, color=look.colour(row))
        axes.text(length + 0.04 * longest, row, form(value), va="center", fontsize=6.5)
    _bare(axes, title, longest)


def draw_pairs(
    axes: "Axes",
    title: str,
    pairs: Mapping[int, tuple[Interval | None, Interval | None]],
    form: Callable[[Interval | None], str],
    look: Look,
    full: float | None = None,
) -> None:
    """Two bars for each group, known by its number; the second is pale, and numbers stand beside them."""
    lengths = [0.0 if value is None else max(0.0, value.mean) for pair in pairs.values() for value in pair]
    longest = full or max(lengths) or 1.0
    for row, (number, pair) in enumerate(pairs.items()):
        for place, (value, alpha) in enumerate(zip(pair, (1.0, 0.45), strict=True)):
            y, length = row + (place - 0.5) * 0.36, lengths[2 * row + place]
            axes.barh(y, length, height=0.32, color=look.colour(number), alpha=alpha)
            axes.text(length + 0.04 * longest, y, form(value), va="center", fontsize=6.5)
    _bare(axes, title, longest)


def _bare(axes: "Axes", title: str, longest: float) -> None:
    """Bars with numbers beside them need no axis, but room for the numbers."""
    axes.set_title(title)
    axes.set_xlim(0, longest * 2.0)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)


def broken(name: str) -> str:
    """A name with what sets it apart on lines of its own."""
    return name.replace(", ", "\n")
