"""Cross-domain protocol: images of one environment encoded there and decoded in another."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from everlearn.evaluation.image_oracle import ImageOracle, positions_of
from everlearn.evaluation.latents import decode_images, encode_environments, tile
from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import Decodes, HasPosterior, InfersEnvironment
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting import image_grid as grid
from everlearn.plotting.axes import Axes, FigureBase, cell_text, hide_frame, stacked
from everlearn.rng import FloatArray
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

N_SHOWN = 6
"""Images of each environment that are stored."""
MIN_IMAGES = 16
SCORES = {
    "environment_accuracy": "environment accuracy",
    "position_error": "position error (0 is best)",
    "label_accuracy": "label accuracy",
}
"""Scores of an oracle, and their titles."""
MAX_ERROR = 0.3
"""Position error at the end of the colormap."""


class OracleScores(base.Result):
    """Scores of images that should look like those of some environment, by an oracle fitted on real images.

    Position errors are root mean squared errors per coordinate, in units of half the image size.
    """

    environment_accuracy: float  # share of images classified as that environment
    position_error: float | None  # None if positions are constant there
    label_accuracy: float | None  # None if that environment has other labels


class CrossDomainResult(base.Result):
    """Images of every environment decoded in every environment."""

    names: tuple[str, ...]  # the environments
    environments: tuple[int, ...]  # their numbers, as the learner infers them
    real: tuple[OracleScores, ...]  # scores of real images, an upper bound for decoded ones
    position_std: tuple[float, ...]  # standard deviation of positions: the position error of a constant
    scores: tuple[tuple[OracleScores, ...], ...]  # of images of one environment (row) decoded in another
    images: tuple[base.ImageArray, ...]  # some of each environment, below decoded in each environment

    @property
    def height(self) -> float:
        """Inches of its grids of images in a figure."""
        return grid.grids_height(len(self.names), 1 + len(self.names))

    def matrix(self, score: str) -> FloatArray:
        """One score from (row) and to (column) each environment; NaN if there is none."""
        return np.array([[getattr(cell, score) for cell in row] for row in self.scores], np.float64)

    def table(self) -> base.Table:
        rows = [
            (name, other, *(getattr(cell, score) for score in SCORES))
            for name, row in zip(self.names, self.scores, strict=True)
            for other, cell in zip(self.names, row, strict=True)
        ]
        scores = ("environment acc.", "position error", "label acc.")
        return base.Table(("encoded in", "decoded in", *scores), rows)


class CrossDomain(base.Protocol[CrossDomainResult]):
    """Cross-domain reconstruction: images of each environment decoded in every other, scored by an oracle.

    The decoded latents are mask_B * mask_A * mean: those that are active in both environments.
    """

    requires: ClassVar[tuple[Any, ...]] = (InfersEnvironment, HasPosterior, Decodes)

    n_images: Annotated[int, Field(ge=MIN_IMAGES, le=base.MAX_IMAGES)] = 500
    """Images per environment; the oracle is fitted on up to 800 others."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> CrossDomainResult:
        encoded = encode_environments(
            learner, stream, n_tasks, self.n_images, context["n_batches"], at_least=2
        )
        decoded = [
            [decode_images(learner, each.mean * other.active, other.environment) for other in encoded]
            for each in encoded
        ]
        oracle = ImageOracle([each.data.train for each in encoded])
        scores = [
            tuple(_scores(oracle, replace(each.data.test, images=images), k) for k, images in enumerate(row))
            for each, row in zip(encoded, decoded, strict=True)
        ]
        return CrossDomainResult(
            names=tuple(each.name for each in encoded),
            environments=tuple(each.environment for each in encoded),
            real=tuple(_scores(oracle, each.data.test, k) for k, each in enumerate(encoded)),
            position_std=tuple(
                float(np.sqrt(positions_of(each.data.test).var(axis=0).mean())) for each in encoded
            ),
            scores=tuple(scores),
            images=tuple(
                _examples([each.data.test.images, *row]) for each, row in zip(encoded, decoded, strict=True)
            ),
        )


def _scores(oracle: ImageOracle, batch: Batch, environment: int) -> OracleScores:
    error = label_accuracy = None
    if oracle.has_motion[environment]:
        errors = oracle.positions(batch.images, environment) - positions_of(batch)
        error = float(np.sqrt((errors**2).mean()))
    known = oracle.known_labels[environment]
    if len(known) > 1 and np.isin(batch.labels, known).all():
        label_accuracy = float((oracle.labels(batch.images, environment) == batch.labels).mean())
    return OracleScores(
        environment_accuracy=float((oracle.environments(batch.images) == environment).mean()),
        position_error=error,
        label_accuracy=label_accuracy,
    )


def _examples(rows: list[Images]) -> Images:
    """Evenly spaced images, which are of different classes since these come in order."""
    shown = np.linspace(0, len(rows[0]) - 1, N_SHOWN).astype(int)
    return tile([images[shown] for images in rows])


def _images_height(groups: base.Groups[CrossDomainResult]) -> float:
    return 0.2 + sum(0.2 + result.height for _, result in base.first_results(groups))


def _draw_images(figure: FigureBase, groups: base.Groups[CrossDomainResult], style: FigureStyle) -> None:
    """Images of an environment (top row), decoded in each environment (rows below)."""
    shown = base.first_results(groups)
    parts = stacked(figure, [each.height for _, each in shown], [name for name, _ in shown])
    for part, (_, result) in zip(parts, shown, strict=True):
        rows = ["input", *(f"in {each}" for each in result.names)]
        grids = grid.add_grids(part, len(result.names))
        for n, (axes, environment, image) in enumerate(zip(grids, result.names, result.images, strict=False)):
            page = grid.add_gaps(image, len(rows), grid.n_square_tiles(image, len(rows)))
            grid.show_grid(axes, page)
            axes.set_title(environment, fontsize=7)
            if n % grid.COLUMNS == 0:
                grid.label_rows(axes, page.shape[0], rows)


def _scores_height(groups: base.Groups[CrossDomainResult]) -> float:
    return 0.5 + sum(0.9 + 0.24 * len(result.names) for _, result in base.first_results(groups))


def _draw_scores(figure: FigureBase, groups: base.Groups[CrossDomainResult], style: FigureStyle) -> None:
    """Oracle scores of images of one environment (row) decoded in another (column)."""
    shown = base.first_results(groups)
    panels = figure.subplots(len(shown), len(SCORES), squeeze=False, sharey="row")
    for row, (name, result) in zip(panels, shown, strict=True):
        for axes, (score, title) in zip(row, SCORES.items(), strict=True):
            is_error = score == "position_error"
            _draw_matrix(axes, result.matrix(score), result.names, style, is_error=is_error)
            axes.set_title(title, fontsize=7)
        row[0].set_ylabel(name)
        row[0].set_yticks(range(len(result.names)), result.names, fontsize=6.5)


def _draw_matrix(
    axes: Axes, matrix: FloatArray, names: Sequence[str], style: FigureStyle, *, is_error: bool
) -> None:
    """A heatmap in which better values are lighter."""
    colormap = f"{style.colormap}_r" if is_error else style.colormap
    highest = MAX_ERROR if is_error else 1.0
    axes.imshow(matrix, cmap=colormap, vmin=0, vmax=highest, aspect="auto")
    for (row, column), value in np.ndenumerate(matrix):
        if not np.isnan(value):
            on_light = (value / highest < 0.45) if is_error else (value > 0.55)
            cell_text(axes, column, row, f"{value:.2f}", on_light=bool(on_light))
    axes.set_xticks(range(len(names)), names, fontsize=6, rotation=45, ha="right", rotation_mode="anchor")
    hide_frame(axes)


CrossDomain.figures = {
    "cross-domain": FigurePart(_images_height, _draw_images),
    "cross-domain-scores": FigurePart(_scores_height, _draw_scores),
}
