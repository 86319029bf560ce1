"""Figures of the paper: what codes say over the batches learned, and which latents say it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from everlearn.reports.codes import draw_latents, draw_probes, latents_height, probes_height
from everlearn.reports.doubts import ambiguity_height, draw_ambiguity
from everlearn.reports.findings import Findings
from everlearn.reports.groups import Group
from everlearn.reports.imaginings import (
    draw_scores,
    draw_translation,
    draw_traversal,
    scores_height,
    translation_height,
    traversal_height,
)
from everlearn.reports.looks import Look
from everlearn.reports.panels import blank, draw_lines, name_lines, share_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

Part = tuple[Callable[[Sequence[Group]], float], "Callable[[FigureBase, Sequence[Group], Look], None]"]
"""A part of a figure: how high it is for some groups, and what puts it there."""

PROBES: Part = (probes_height, draw_probes)
LATENTS: Part = (latents_height, draw_latents)
WALKS: Part = (traversal_height, draw_traversal)
TRANSLATIONS: Part = (translation_height, draw_translation)
SCORES: Part = (scores_height, draw_scores)


def probes_and_latents(groups: Sequence[Group], look: Look) -> "Figure":
    """What can be read from codes on the way; below, which latents each environment uses in the end."""
    return _stacked((PROBES, LATENTS), groups, look)


def walks_probes_and_latents(groups: Sequence[Group], look: Look) -> "Figure":
    """What latents stand for in the end, above all that."""
    return _stacked((WALKS, PROBES, LATENTS), groups, look)


def translations(groups: Sequence[Group], look: Look) -> "Figure":
    """Pictures of each environment as the others show them, and what a judge says of them."""
    return _stacked((TRANSLATIONS, SCORES), groups, look)


def doubt_and_exploration(groups: Sequence[Group], look: Look) -> "Figure":
    """Pictures between two environments; below, what exploration does to objects that are still to come."""
    return _stacked(
        [part for part, found in ((DOUBT, _asked(groups)), (EXPLORATION, _exploring(groups))) if found],
        groups,
        look,
    )


def _stacked(parts: Sequence[Part], groups: Sequence[Group], look: Look) -> "Figure":
    heights = [height(groups) for height, _ in parts]
    figure = blank(sum(heights))
    places = figure.subfigures(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
    for place, (_, put) in zip(places, parts, strict=True):
        put(place, groups, look)
    return figure


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


DOUBT: Part = (ambiguity_height, draw_ambiguity)
EXPLORATION: Part = (lambda groups: 2.2, _draw_exploration)
