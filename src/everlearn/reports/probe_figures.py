"""What figures show of learners that answer nothing: what their codes say, and where."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from everlearn.evaluation.probes import ACCURACIES, probes_of
from everlearn.reports.axes import Part, draw_lines, panels_on, stacked
from everlearn.reports.groups import Group
from everlearn.reports.run_figures import Drawing, Groups, NothingToDraw
from everlearn.reports.run_results import Findings
from everlearn.reports.style import Look
from everlearn.rng import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure, FigureBase


BoolArray = npt.NDArray[np.bool_]
Rows = Sequence[Mapping[str, Any]]
"""What latents do, environment by environment."""

AXES = {
    "object": "objects named",
    "position": "place, error²",
    "scale": "scale, error²",
    "angle": "angle, error²",
}
"""What is read from codes, as an axis says it."""
MOST_NUMBERS = 4
"""That have room beside a small panel."""


def probes(groups: Groups, look: Look) -> "Figure":
    """What can be read from codes over the batches learned; shaded while the environment is shown."""
    return stacked(groups, look, PROBES)


def latents(groups: Groups, look: Look) -> "Figure":
    """Which latents each environment uses, leaves open and closes; dots mark those that stand for places."""
    return stacked(groups, look, LATENTS)


DRAWINGS: dict[str, Drawing] = {"probes": probes, "latents": latents}


def probes_height(groups: Groups) -> float:
    """Inches that the probes of groups need."""
    return 0.3 + 1.3 * math.ceil(len(_found(groups)) / 2)


def draw_probes(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put a panel for each probe on a figure, or on a part of one."""
    found = _found(groups)
    panels = panels_on(figure, len(found), columns=2, share_x=True)
    for axes, probe in zip(panels, found, strict=True):
        axes.set_visible(probe is not None)
        if probe is not None:
            _draw_probe(axes, *probe, groups, look)
    for column in (panels[0::2], panels[1::2]):
        for axes in [each for each in column if each.get_visible()][-1:]:
            axes.set_xlabel("batches learned")
            axes.tick_params(labelbottom=True)
    names = [each.short for each in groups]
    figure.legend(
        panels[0].get_lines()[: len(names)],
        names,
        loc="outside upper left",
        ncols=_columns(names),
        frameon=False,
    )


def latents_height(groups: Groups) -> float:
    """Inches that the latents of groups need."""
    told = _told(groups)
    return 0.3 + len(told) * (0.55 + 0.2 * max(map(len, told.values())))


def draw_latents(figure: "FigureBase", groups: Groups, look: Look) -> None:
    """Put a panel for each group that was asked on a figure, or on a part of one."""
    told = _told(groups)
    n_latents = max(len(rows[0]["open"]) for rows in told.values())
    panels = panels_on(figure, len(told))
    for axes, (name, rows) in zip(panels, told.items(), strict=True):
        marks = _draw_latents(axes, rows, look)
        axes.set(title=name, xlim=(-0.7, n_latents - 0.3))
    panels[-1].set_xlabel("latent")
    figure.legend(marks.values(), marks.keys(), loc="outside upper right", ncols=len(marks), frameon=False)


def _draw_probe(axes: "Axes", place: str, quantity: str, groups: Groups, look: Look) -> None:
    lines = [each.line(partial(Findings.probe, place=place, quantity=quantity)) for each in groups]
    draw_lines(axes, lines, look, marks=False)
    _mark_stages(axes, place, _probed(groups)[0].runs[0], look)
    _scale(axes, quantity, np.concatenate([line.mean for line in lines]))
    axes.set_title(place)


def _probed(groups: Groups) -> list[Group]:
    return [each for each in groups if each.runs[0].probings]


def _found(groups: Groups) -> list[tuple[str, str] | None]:
    """Environment and quantity for each panel, environment by environment; None where nothing varies."""
    if not _probed(groups):
        raise NothingToDraw("all of these learners answer; only of those that do not, codes are read")
    found = dict.fromkeys(probe for each in _probed(groups) for probe in probes_of(each.runs[0].probings))
    quantities = [name for name in AXES if any(name == quantity for _, quantity in found)]
    places = dict.fromkeys(place for place, _ in found)
    cells = [(place, quantity) for place in places for quantity in quantities]
    return [cell if cell in found else None for cell in cells]


def _told(groups: Groups) -> dict[str, Rows]:
    """What the first run of each group that was asked says of its latents."""
    asked = [each for each in groups if "environments" in each.runs[0].answers]
    if not asked:
        raise NothingToDraw(
            "none of these runs was asked since it last changed; "
            "ask with `everlearn protocol environments RECORD`"
        )
    return {each.short: each.runs[0].answers["environments"]["latents"] for each in asked}


def _draw_latents(axes: "Axes", rows: Rows, look: Look) -> "dict[str, PathCollection]":
    """A row for each environment; gives what its marks mean."""
    is_open, used = (np.array([row[name] for row in rows], bool) for name in ("open", "used"))
    place = np.array([[n in row["places"] for n in range(len(row["open"]))] for row in rows])
    styles: dict[str, tuple[BoolArray, dict[str, Any]]] = {
        "used": (used, {"marker": "s", "color": look.colour(0), "s": 60}),
        "stands for a place": (place, {"marker": "o", "color": look.paper, "edgecolor": look.ink, "s": 16}),
        "open": (is_open & ~used, {"marker": "s", "color": look.paper, "edgecolor": look.faint, "s": 60}),
        "closed": (~is_open, {"marker": "x", "color": look.ink, "s": 24, "linewidth": 1}),
    }
    marks = {}
    for name, (where, style) in styles.items():
        y, x = np.nonzero(where)
        marks[name] = axes.scatter(x, y, zorder=3 if name == "stands for a place" else 2, **style)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return marks


def _mark_stages(axes: "Axes", place: str, run: Findings, look: Look) -> None:
    starts, shown = run.starts, {each.task: each.shown for each in run.probings}
    for task, (begin, end) in enumerate(pairwise(starts)):
        if shown.get(task) == place:
            axes.axvspan(begin, end, color=look.faint, alpha=0.5, linewidth=0)
    for start in starts[1:-1]:
        axes.axvline(start, color=look.ink, linewidth=0.5, linestyle=":")
    axes.set_xlim(0, starts[-1])
    axes.set_xlabel("")


def _scale(axes: "Axes", quantity: str, values: FloatArray) -> None:
    """Shares from nothing to all; errors by their logarithm, as far as means go, however wide bands are."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    axes.set_ylabel(AXES[quantity])
    errors = values[values > 0]
    if quantity in ACCURACIES or not len(errors):
        axes.set_ylim(0, 1.02)
        return
    axes.set_yscale("log")
    low, high = 0.8 * float(errors.min()), 1.25 * float(errors.max())
    axes.set_ylim(low, high)
    axes.set_yticks(_round_numbers(low, high))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _round_numbers(low: float, high: float) -> list[float]:
    """A few round numbers between two; matplotlib's crowd where a logarithmic axis is short.

    Example:
        >>> _round_numbers(0.0014, 0.0037), _round_numbers(0.0009, 0.03)
        ([0.0015, 0.002, 0.003], [0.001, 0.003, 0.01, 0.03])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3)):
        found = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        found = [number for number in found if low <= number <= high]
        if len(found) <= MOST_NUMBERS:
            break
    return found


def _columns(names: Sequence[str]) -> int:
    """As many names in a row as have room."""
    return max(1, min(len(names), 72 // (max(map(len, names)) + 6)))


PROBES = Part(probes_height, draw_probes)
LATENTS = Part(latents_height, draw_latents)
