"""Figures of the paper: what codes say over the batches learned, and which latents say it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from everlearn.reports.codes import draw_latents, draw_probes, latents_height, probes_height
from everlearn.reports.groups import Group
from everlearn.reports.looks import Look
from everlearn.reports.panels import blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def probes_and_latents(groups: Sequence[Group], look: Look) -> "Figure":
    """What can be read from codes on the way; below, which latents each environment uses in the end."""
    heights = probes_height(groups), latents_height(groups)
    figure = blank(sum(heights))
    parts = figure.subfigures(2, 1, height_ratios=heights, squeeze=False)
    draw_probes(parts[0, 0], groups, look)
    draw_latents(parts[1, 0], groups, look)
    return figure
