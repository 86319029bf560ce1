"""Traversal protocol: images decoded while one latent varies and the others are fixed."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from everlearn.evaluation.latents import USED_KL, EncodedEnvironment, encode_environments, tile, traverse
from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import Decodes, HasPosterior
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import Axes, FigureBase, stacked
from everlearn.plotting.image_grid import add_gaps, add_grids, grids_height, label_rows, show_grid
from everlearn.streams import Stream

VALUES = tuple(np.linspace(-2, 2, 7).tolist())
"""Values of the varied latent; most of N(0, 1) lies between the ends."""
N_UNUSED = 2
"""Unused latents that are shown as examples."""
SHARED = "*"
"""Follows the number of a latent that several environments use."""
MARKS = {"used": "used", "active": "active, not used", "masked": "masked"}
"""States of a latent in an environment, and their names in the legend."""


class EnvironmentTraversal(base.Result):
    """Traversals in one environment."""

    name: str
    environment: int  # its number, as the learner infers it
    active: tuple[bool, ...]  # which latents are active
    kl: tuple[float, ...]  # mean KL divergence of each latent from the prior
    image: base.ImageArray  # the image whose latents are varied
    images: base.ImageArray  # a row for each shown latent, a column for each value, tiled

    def state(self, latent: int) -> str:
        """Whether a latent is used, active or masked."""
        return "masked" if not self.active[latent] else "used" if self.kl[latent] > USED_KL else "active"


class TraversalResult(base.Result):
    """Traversals of latents in every environment."""

    values: tuple[float, ...]  # of the varied latent, from left to right
    latents: tuple[int, ...]  # used ones by decreasing KL from top to bottom, then a few unused ones
    n_used: int  # latents that are used in some environment
    n_unused: int
    environments: tuple[EnvironmentTraversal, ...]

    def is_shared(self, latent: int) -> bool:
        """Whether several environments use a latent."""
        return sum(each.state(latent) == "used" for each in self.environments) > 1

    @property
    def height(self) -> float:
        """Inches of its grids in a figure."""
        return grids_height(len(self.environments), 1 + len(self.latents))

    def table(self) -> base.Table:
        used = self.latents[: self.n_used]
        rows = [
            (each.name, each.environment, base.comma_separated([n for n in used if each.kl[n] > USED_KL]))
            for each in self.environments
        ]
        return base.Table(("environment", "inferred as", "used latents"), rows)


class Traversal(base.Protocol[TraversalResult]):
    """Latent traversals: an image of each environment decoded while one latent goes from -2 to 2.

    Masked latents are varied too; they should change nothing.
    """

    requires: ClassVar[tuple[Any, ...]] = (HasPosterior, Decodes)

    image: Annotated[int, Field(ge=0, le=base.MAX_IMAGES)] = 0
    """Index of the test image, modulo their number."""
    n_images: base.NImages = 500
    """Test images per environment, for the KL divergence of each latent."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> TraversalResult:
        encoded = encode_environments(learner, stream, n_tasks, self.n_images, context["n_batches"])
        n_used = int(np.any([each.used for each in encoded], axis=0).sum())
        max_kl = np.max([each.kl for each in encoded], axis=0)
        latents = tuple(np.argsort(-max_kl, kind="stable")[: n_used + N_UNUSED].tolist())
        return TraversalResult(
            values=VALUES,
            latents=latents,
            n_used=n_used,
            n_unused=len(max_kl) - n_used,
            environments=tuple(_traversal(learner, each, latents, self.image) for each in encoded),
        )


def _traversal(
    model: Any, encoded: EncodedEnvironment, latents: Sequence[int], image: int
) -> EnvironmentTraversal:
    row = image % len(encoded.mean)
    rows = [traverse(model, encoded.mean[row], n, VALUES, encoded.environment) for n in latents]
    return EnvironmentTraversal(
        name=encoded.name,
        environment=encoded.environment,
        active=tuple(encoded.active.tolist()),
        kl=tuple(encoded.kl.round(4).tolist()),
        image=encoded.data.test.images[row],
        images=tile(rows),
    )


def _height(groups: base.Groups[TraversalResult]) -> float:
    return 0.3 + sum(0.2 + result.height for _, result in base.first_results(groups))


def _draw(figure: FigureBase, groups: base.Groups[TraversalResult], style: FigureStyle) -> None:
    """Latent traversals: each latent (row) goes from -2 to 2 (left to right), all others are fixed."""
    from matplotlib.patches import Patch

    shown = base.first_results(groups)
    unused = "{}; {} latents unused everywhere"
    titles = [unused.format(name, each.n_unused) if each.n_unused else name for name, each in shown]
    parts = stacked(figure, [each.height for _, each in shown], titles)
    for part, (_, result) in zip(parts, shown, strict=True):
        grids = add_grids(part, len(result.environments))
        for axes, each in zip(grids, result.environments, strict=False):
            _draw_environment(axes, result, each, style)
    patches = [*(Patch(color=_colors(style)[state]) for state in MARKS), Patch(alpha=0)]
    names = [*MARKS.values(), f"{SHARED} used in several environments"]
    figure.legend(patches, names, loc="outside lower left", ncols=4, frameon=False, handlelength=0.8)


def _draw_environment(
    axes: Axes, result: TraversalResult, each: EnvironmentTraversal, style: FigureStyle
) -> None:
    """The traversals in one environment, with a mark before each row for the state of the latent."""
    page = add_gaps(each.images, len(result.latents), len(result.values))
    show_grid(axes, page)
    label_rows(axes, page.shape[0], [f"{n}{SHARED * result.is_shared(n)}" for n in result.latents])
    axes.set_title(each.name, fontsize=7)
    height, width = page.shape[0] / len(result.latents), 0.025 * page.shape[1]
    for row, latent in enumerate(result.latents):
        color = _colors(style)[each.state(latent)]
        axes.barh((row + 0.5) * height, width, 0.8 * height, left=-1.6 * width, color=color, linewidth=0)
    axes.set_xlim(-1.8 * width, page.shape[1])
    image, right = add_gaps(each.image, 1, 1), page.shape[1]
    size = image.shape[1]
    extent = (right - size, right, -2, -2 - size)
    axes.imshow(image, interpolation="nearest", extent=extent, clip_on=False)  # above the right end
    axes.set_ylim(page.shape[0], -2)


def _colors(style: FigureStyle) -> dict[str, str]:
    return {"used": style.color(0), "active": style.faint, "masked": style.color(1)}


Traversal.figures = {"traversal": FigurePart(_height, _draw)}
