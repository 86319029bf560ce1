"""Figures of the paper: what codes say over the batches learned, and which latents say it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from everlearn.reports.axes import Part, draw_lines, name_lines, share_axis, stacked
from everlearn.reports.groups import Group
from everlearn.reports.latent_figures import AMBIGUITY, TRANSLATED, TRANSLATION, TRAVERSAL
from everlearn.reports.probe_figures import LATENTS, PROBES
from everlearn.reports.run_results import Findings
from everlearn.reports.style import Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase


def probes_and_latents(groups: Sequence[Group], look: Look) -> "Figure":
    """What can be read from codes on the way; below, which latents each environment uses in the end."""
    return stacked(groups, look, PROBES, LATENTS)


def walks_probes_and_latents(groups: Sequence[Group], look: Look) -> "Figure":
    """What latents stand for in the end, above all that."""
    return stacked(groups, look, TRAVERSAL, PROBES, LATENTS)


def translations(groups: Sequence[Group], look: Look) -> "Figure":
    """Images of each environment as the others show them, and what a judge says of them."""
    return stacked(groups, look, TRANSLATION, TRANSLATED)


def doubt_and_exploration(groups: Sequence[Group], look: Look) -> "Figure":
    """Images between two environments; below, what exploration does to objects that are still to come."""
    parts = ((AMBIGUITY, _asked(groups)), (EXPLORATION, _exploring(groups)))
    return stacked(groups, look, *(part for part, found in parts if found))


def _asked(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if "ambiguity" in group.runs[0].answers]


def _exploring(groups: Sequence[Group]) -> list[Group]:
    """Those that were not asked about doubt, but read on the way."""
    return [group for group in groups if group not in _asked(groups) and group.runs[0].probings]


def _draw_exploration(figure: "FigureBase", groups: Sequence[Group], look: Look) -> None:
    """How well objects of the last environment are named, until its turn comes and after."""
    shown = _exploring(groups)
    run = shown[0].runs[0]
    last = run.probings[-1].shown
    axes = figure.subplots()
    lines = [group.line(partial(Findings.probe, place=last, quantity="object")) for group in shown]
    draw_lines(axes, lines, look, marks=False)
    for start in run.starts[1:-1]:
        axes.axvline(start, color=look.ink, linewidth=0.5, linestyle=":")
    axes.set_xlabel("batches learned; dotted where environments change")
    axes.set_title(f"objects of {last}, which comes last")
    share_axis(axes, "named rightly")
    name_lines(axes, [group.short for group in shown], look)


EXPLORATION = Part(lambda groups: 2.2, _draw_exploration)
