"""Held-out-factors protocol: accuracy on factor combinations that did not occur in training."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from everlearn.errors import BadInput
from everlearn.evaluation.formatting import format_error, format_score
from everlearn.evaluation.metrics import FACTOR_LABELS, factor_errors
from everlearn.evaluation.protocols import base
from everlearn.evaluation.samples import sample_tasks
from everlearn.learners.capabilities import EstimatesFactors
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import FigureBase
from everlearn.streams import Batch, Stream


class HeldOutFactorsResult(base.Result):
    """Accuracy on factor combinations that occur in training, and on those that do not."""

    n_trained: int
    n_held_out: int
    trained: float
    held_out: float
    trained_errors: Mapping[str, float] = {}  # mean error of each factor, if the learner estimates factors
    held_out_errors: Mapping[str, float] = {}

    def table(self) -> base.Table:
        errors = [
            (f"error of {name}", error, self.held_out_errors[name])
            for name, error in self.trained_errors.items()
        ]
        rows = [("accuracy", self.trained, self.held_out), *errors]
        return base.Table(("measure", "trained", "held out"), rows)


class HeldOutFactors(base.Protocol[HeldOutFactorsResult]):
    """Accuracy and factor errors on factor combinations that did not occur in training."""

    n_images: base.NImages = 1000
    """Images of trained, and of held-out combinations."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> HeldOutFactorsResult:
        held_out = sample_tasks(stream, n_tasks, "held_out", self.n_images)
        if not len(held_out):
            raise BadInput(
                f"{stream.id} holds out no factor combinations; train with --set stream.held_out=25"
            )
        trained = sample_tasks(stream, n_tasks, "test", self.n_images)
        return HeldOutFactorsResult(
            n_trained=len(trained),
            n_held_out=len(held_out),
            trained=base.accuracy(learner, trained, stream),
            held_out=base.accuracy(learner, held_out, stream),
            trained_errors=_errors(learner, trained),
            held_out_errors=_errors(learner, held_out),
        )


def _errors(learner: Any, batch: Batch) -> dict[str, float]:
    if not isinstance(learner, EstimatesFactors) or batch.factors is None:
        return {}
    return factor_errors(learner.estimate(batch.images), batch.factors)


def _draw(figure: FigureBase, groups: base.Groups[HeldOutFactorsResult], style: FigureStyle) -> None:
    """Trained and held-out factor combinations."""
    estimated = {name for each in groups for result in each.results for name in result.trained_errors}
    panels = {"accuracy": base.Pair(lambda result: (result.trained, result.held_out), format_score)}
    for factor in (name for name in FACTOR_LABELS if name in estimated):
        title = "error of " + FACTOR_LABELS[factor].replace(" ", "\n", 1)
        panels[title] = base.Pair(partial(_both_errors, factor), format_error)
    base.draw_pairs(figure, groups, style, panels, "full: trained, pale: held out")


def _both_errors(factor: str, result: HeldOutFactorsResult) -> tuple[float | None, float | None]:
    return result.trained_errors.get(factor), result.held_out_errors.get(factor)


HeldOutFactors.figures = {"held-out-factors": FigurePart(base.pairs_height, _draw)}
