"""Figure of probe scores over the batches learned, for unsupervised learners."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from everlearn.evaluation.intervals import NOT_NEGATIVE
from everlearn.evaluation.probes import ACCURACIES, probe_keys
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import Axes, FigureBase, NothingToDraw, add_panels, draw_series
from everlearn.reports.groups import Group
from everlearn.reports.run_figures import Groups
from everlearn.reports.run_results import RunResults
from everlearn.rng import FloatArray

LABELS = {"object": "object accuracy", "position": "position MSE", "scale": "scale MSE", "angle": "angle MSE"}
"""Probed quantities, and the labels of their axes."""
MAX_TICKS = 4
LEGEND_WIDTH = 72
"""Characters in a row of the legend."""


def _height(groups: Groups) -> float:
    return 0.3 + 1.3 * math.ceil(len(_cells(groups)) / 2)


def _draw(figure: FigureBase, groups: Groups, style: FigureStyle) -> None:
    """Probe scores over the batches learned; shaded while the environment is trained."""
    cells = _cells(groups)
    panels = add_panels(figure, len(cells), columns=2, share_x=True)
    for axes, cell in zip(panels, cells, strict=True):
        axes.set_visible(cell is not None)
        if cell is not None:
            _draw_probe(axes, *cell, groups, style)
    for column in (panels[0::2], panels[1::2]):
        for axes in [each for each in column if each.get_visible()][-1:]:
            axes.set_xlabel("batches learned")
            axes.tick_params(labelbottom=True)
    names = [each.short for each in groups]
    n_columns = max(1, min(len(names), LEGEND_WIDTH // (max(map(len, names)) + 6)))
    lines = panels[0].get_lines()[: len(names)]
    figure.legend(lines, names, loc="outside upper left", ncols=n_columns, frameon=False)


PROBES = FigurePart(_height, _draw)


def _cells(groups: Groups) -> list[tuple[str, str] | None]:
    """Environment and quantity of each panel, environment by environment; None for an empty panel."""
    probed = _probed(groups)
    if not probed:
        raise NothingToDraw("all of these learners are classifiers; probes are for unsupervised ones")
    found = dict.fromkeys(key for each in probed for key in probe_keys(each.runs[0].probe_results))
    quantities = [name for name in LABELS if any(name == quantity for _, quantity in found)]
    environments = dict.fromkeys(environment for environment, _ in found)
    cells = [(environment, quantity) for environment in environments for quantity in quantities]
    return [cell if cell in found else None for cell in cells]


def _probed(groups: Groups) -> list[Group]:
    return [each for each in groups if each.runs[0].probe_results]


def _draw_probe(axes: Axes, environment: str, quantity: str, groups: Groups, style: FigureStyle) -> None:
    curve = partial(RunResults.probe, environment=environment, quantity=quantity)
    series = [each.series(curve, NOT_NEGATIVE) for each in groups]
    draw_series(axes, series, style, markers=False)
    _mark_tasks(axes, environment, _probed(groups)[0].runs[0], style)
    _scale_y(axes, quantity, np.concatenate([each.mean for each in series]))
    axes.set_title(environment)


def _mark_tasks(axes: Axes, environment: str, run: RunResults, style: FigureStyle) -> None:
    """Shade the tasks of an environment; dotted lines between tasks."""
    starts = run.task_starts
    trained = {each.task for each in run.probe_results if each.environment == environment}
    for task, (begin, end) in enumerate(pairwise(starts)):
        if task in trained:
            axes.axvspan(begin, end, color=style.faint, alpha=0.5, linewidth=0)
    for start in starts[1:-1]:
        axes.axvline(start, color=style.foreground, linewidth=0.5, linestyle=":")
    axes.set_xlim(0, starts[-1])
    axes.set_xlabel("")


def _scale_y(axes: Axes, quantity: str, values: FloatArray) -> None:
    """A linear axis from 0 to 1 for accuracies; a logarithmic one over the means for errors."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    axes.set_ylabel(LABELS[quantity])
    errors = values[values > 0]
    if quantity in ACCURACIES or not len(errors):
        axes.set_ylim(0, 1.02)
        return
    axes.set_yscale("log")
    low, high = 0.8 * float(errors.min()), 1.25 * float(errors.max())
    axes.set_ylim(low, high)
    axes.set_yticks(_log_ticks(low, high))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _log_ticks(low: float, high: float) -> Sequence[float]:
    """A few round numbers in a range; matplotlib has too many on a short logarithmic axis.

    Example:
        >>> _log_ticks(0.0014, 0.0037), _log_ticks(0.0009, 0.03)
        ([0.0015, 0.002, 0.003], [0.001, 0.003, 0.01, 0.03])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3)):
        ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MAX_TICKS:
            break
    return ticks
