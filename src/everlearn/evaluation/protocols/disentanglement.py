"""Disentanglement protocol: DCI, MIG and SAP of latents in every environment with known factors."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation.disentanglement import MIN_DCI_ROWS, dci, mig, sap
from everlearn.evaluation.environment_data import EnvironmentData, environment_data
from everlearn.evaluation.latents import encode_environments
from everlearn.evaluation.protocols import base
from everlearn.factors import FACTOR_NAMES
from everlearn.learners.capabilities import Encodes, HasPosterior
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import Axes, FigureBase, hide_frame
from everlearn.rng import FloatArray
from everlearn.streams import Stream

SCORES = {"disentanglement": "D", "completeness": "C", "informativeness": "I", "mig": "MIG", "sap": "SAP"}
"""The scores, and their abbreviations."""


class EnvironmentScores(base.Result):
    """Disentanglement scores in one environment, each from 0 to 1; see `everlearn.evaluation`."""

    name: str  # of the environment
    n_images: int
    factors: tuple[str, ...]  # factors that vary
    disentanglement: float
    completeness: float
    informativeness: float
    mig: float
    sap: float
    importances: tuple[tuple[float, ...], ...]  # (n_latents, n_factors)


class DisentanglementResult(base.Result):
    """Disentanglement scores in every environment with varying factors."""

    environments: tuple[EnvironmentScores, ...]

    def table(self) -> base.Table:
        rows = [
            (each.name, base.comma_separated(each.factors), *(getattr(each, score) for score in SCORES))
            for each in self.environments
        ]
        return base.Table(("environment", "factors", *SCORES), rows)


class Disentanglement(base.Protocol[DisentanglementResult]):
    """DCI, MIG and SAP of the latents in every environment with known, varying factors.

    Class labels and colour are not factors here. Masked latents are constant.
    """

    requires: ClassVar[tuple[Any, ...]] = (Encodes,)

    n_images: Annotated[int, Field(ge=MIN_DCI_ROWS, le=base.MAX_IMAGES)] = 1000
    """Test images per environment."""

    def _run(
        self, learner: Any, stream: Stream, n_tasks: int, context: base.Context
    ) -> DisentanglementResult:
        if isinstance(learner, HasPosterior):
            encoded = encode_environments(learner, stream, n_tasks, self.n_images, context["n_batches"])
            latents = [(each.data, each.mean) for each in encoded]
        else:
            found = environment_data(stream, n_tasks, self.n_images)
            latents = [(data, learner.encode(data.test.images)) for data in found]
        scores = tuple(_scores(data, codes) for data, codes in latents if _varying(data))
        if not scores:
            raise BadInput(
                f"no environment of {stream.id} has {MIN_DCI_ROWS} test images in which a known factor "
                "varies; use a stream of sprites or moving images, with more images"
            )
        return DisentanglementResult(environments=scores)


def _varying(data: EnvironmentData) -> tuple[str, ...]:
    factors = data.test.factors
    if factors is None or len(data.test) < MIN_DCI_ROWS:
        return ()
    return tuple(name for name in FACTOR_NAMES if np.ptp(getattr(factors, name)) > 0)


def _scores(data: EnvironmentData, codes: FloatArray) -> EnvironmentScores:
    names = _varying(data)
    factors = np.stack([getattr(data.test.factors, name) for name in names], axis=1)
    found = dci(codes, factors)
    return EnvironmentScores(
        name=data.name,
        n_images=len(codes),
        factors=names,
        disentanglement=found.disentanglement,
        completeness=found.completeness,
        informativeness=found.informativeness,
        mig=mig(codes, factors),
        sap=sap(codes, factors),
        importances=tuple(map(tuple, found.importances.round(4).tolist())),
    )


def _height(groups: base.Groups[DisentanglementResult]) -> float:
    shown = base.first_results(groups)
    n_factors = max(len(each.factors) for _, result in shown for each in result.environments)
    return 0.3 + len(shown) * (0.75 + 0.2 * n_factors)


def _draw(figure: FigureBase, groups: base.Groups[DisentanglementResult], style: FigureStyle) -> None:
    """Importance of each latent for each factor, in every environment with varying factors."""
    shown = base.first_results(groups)
    n_columns = max(len(result.environments) for _, result in shown)
    grid = figure.subplots(len(shown), n_columns, squeeze=False)
    for row, (name, result) in zip(grid, shown, strict=True):
        for axes in row[len(result.environments) :]:
            axes.set_visible(False)
        for axes, each in zip(row, result.environments, strict=False):
            _draw_importances(axes, each, style)
        row[0].set_ylabel(name)


def _draw_importances(axes: Axes, scores: EnvironmentScores, style: FigureStyle) -> None:
    matrix = np.array(scores.importances).T
    axes.imshow(matrix, cmap=style.colormap, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(scores.factors)), scores.factors, fontsize=6.5)
    axes.set_xlabel("latent", fontsize=6.5)
    hide_frame(axes)
    text = "  ".join(f"{short} {getattr(scores, score):.2f}" for score, short in SCORES.items())
    axes.set_title(f"{scores.name}\n{text}", fontsize=6.5)


Disentanglement.figures = {"disentanglement": FigurePart(_height, _draw)}
