"""Open-set protocol: how well novelty scores separate images of new classes from images of known ones."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation import samples
from everlearn.evaluation.formatting import format_score
from everlearn.evaluation.intervals import interval_over
from everlearn.evaluation.novelty import ThresholdCurve, acceptance, precision_recall, roc, threshold_for
from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import EditsMemory, EstimatesFactors, Rejects
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import FigureBase, NothingToDraw, add_panels, canvas_height
from everlearn.rng import FloatArray
from everlearn.streams import Batch, Stream

MAX_NEW_CLASSES = 100
MAX_FALSE_ACCEPTS = 8
"""Falsely accepted images that are stored per result, and shown."""
MAX_POINTS = 101
"""Points of a stored curve."""
PAPER, PAPER_AREA = "Dziadzio et al. 2023", 0.92


class CurveStyle(NamedTuple):
    """Style of a curve; `chance` is the line of random scores."""

    title: str
    x: str
    y: str
    drawstyle: Literal["default", "steps-pre"] = "default"
    chance: tuple[float, float] | None = None


CURVES = {
    "acceptance": CurveStyle("paper's curve", "new rejected", "known accepted", chance=(1.0, 0.0)),
    "precision_recall": CurveStyle("precision-recall", "recall of new", "precision", "steps-pre"),
    "roc": CurveStyle("ROC", "false positive rate", "true positive rate", chance=(0.0, 1.0)),
}
IMAGES = {"image": "image", "canonical": "canonical", "exemplar": "predicted"}
"""Images of a false accept, and their labels in the figure."""


class CurvePoints(base.Result):
    """Some points of a curve, and the area under all of it."""

    area: float
    x: tuple[float, ...]
    y: tuple[float, ...]


class FalseAccept(base.Result):
    """An image of a new class that was accepted."""

    label: int  # its class
    predicted: int  # the predicted class
    novelty: float
    image: base.ImageArray
    canonical: base.ImageArray  # the image in its canonical pose, by the estimated factors
    exemplar: base.ImageArray  # the stored exemplar of the predicted class


class OpenSetResult(base.Result):
    """Threshold curves, and rates at a threshold chosen on validation images."""

    n_known: int
    n_new: int
    roc: CurvePoints
    precision_recall: CurvePoints
    acceptance: CurvePoints
    threshold: float  # novelty score above which an image is rejected as new
    accepted: float  # share of known test images that are accepted
    rejected: float  # share of new images that are rejected
    accuracy: float  # share of known test images that are accepted and classified correctly
    false_accepts: tuple[FalseAccept, ...] = ()  # by increasing novelty; at most one per class

    def table(self) -> base.Table:
        rows = [
            ("area under the ROC curve", self.roc.area),
            ("average precision", self.precision_recall.area),
            ("area under the paper's curve", self.acceptance.area),
            ("novelty threshold", self.threshold),
            ("known images accepted", self.accepted),
            ("new images rejected", self.rejected),
            ("known images accepted and correct", self.accuracy),
        ]
        return base.Table(("measure", "value"), rows)


class OpenSet(base.Protocol[OpenSetResult]):
    """Separation of new classes from known ones by novelty scores: ROC, precision-recall, false accepts."""

    requires: ClassVar[tuple[Any, ...]] = (Rejects,)

    n_images: base.NImages = 1000
    """Test images of known classes, and about as many of new classes."""
    accepted: Annotated[float, Field(ge=0, le=1)] = 0.95
    """Share of known validation images to accept; sets the threshold."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> OpenSetResult:
        known, new = stream.eval_sample(n_tasks, self.n_images), _new_images(stream, n_tasks, self.n_images)
        validation = samples.sample_tasks(stream, n_tasks, "val", self.n_images)
        if not len(validation):
            raise BadInput(f"{stream.id} has no validation images to choose a threshold on; set stream.split")
        threshold = threshold_for(learner.novelty(validation.images), self.accepted)
        known_scores, new_scores = learner.novelty(known.images), learner.novelty(new.images)
        predicted = samples.predict(learner, known, stream)
        return OpenSetResult(
            n_known=len(known),
            n_new=len(new),
            roc=_points(roc(known_scores, new_scores)),
            precision_recall=_points(precision_recall(known_scores, new_scores)),
            acceptance=_points(acceptance(known_scores, new_scores)),
            threshold=threshold,
            accepted=float(np.mean(known_scores <= threshold)),
            rejected=float(np.mean(new_scores > threshold)),
            accuracy=float(np.mean((predicted == known.labels) & (known_scores <= threshold))),
            false_accepts=tuple(_false_accepts(learner, new, new_scores, threshold)),
        )


def _new_images(stream: Stream, n_tasks: int, size: int) -> Batch:
    n_classes = min(len(samples.known_labels(stream, n_tasks)), MAX_NEW_CLASSES, size)
    n_per_class = max(1, size // n_classes)
    parts = [
        samples.first_per_label(task.test, new, n_per_class)
        for task, new in samples.new_classes(stream, n_tasks, n_classes)
    ]
    return samples.subsample(Batch.concatenate(parts), size)


def _points(curve: ThresholdCurve) -> CurvePoints:
    rows = np.unique(np.linspace(0, len(curve.x) - 1, min(MAX_POINTS, len(curve.x))).astype(int))
    x, y = (tuple(values[rows].round(6).tolist()) for values in (curve.x, curve.y))
    return CurvePoints(area=curve.area, x=x, y=y)


def _false_accepts(learner: Any, new: Batch, scores: FloatArray, threshold: float) -> Iterator[FalseAccept]:
    """The accepted image with the lowest score of each new class; none for learners without exemplars."""
    if not all(isinstance(learner, capability) for capability in (EditsMemory, EstimatesFactors)):
        return
    order = np.argsort(scores, kind="stable")
    accepted = order[scores[order] <= threshold]
    rows = accepted[np.sort(np.unique(new.labels[accepted], return_index=True)[1])][:MAX_FALSE_ACCEPTS]
    if not len(rows):
        return
    images = new.images[rows]
    predicted, canonical = learner.predict(images), samples.canonical(learner, images)
    for n, row in enumerate(rows.tolist()):
        yield FalseAccept(
            label=int(new.labels[row]),
            predicted=int(predicted[n]),
            novelty=float(scores[row]),
            image=images[n],
            canonical=canonical[n],
            exemplar=learner.memory.images_of(int(predicted[n]))[0],
        )


def _curves_height(groups: base.Groups[OpenSetResult]) -> float:
    return canvas_height(1, panel_height=2.3 + 0.14 * len(base.first_results(groups)))


def _draw_curves(figure: FigureBase, groups: base.Groups[OpenSetResult], style: FigureStyle) -> None:
    """Separation of new classes from known ones, with areas under curves."""
    _, first = base.first_results(groups)[0]
    share_of_new = first.n_new / (first.n_new + first.n_known)
    panels = add_panels(figure, len(CURVES), columns=len(CURVES))
    for axes, (key, how) in zip(panels, CURVES.items(), strict=True):
        for number, each in enumerate(groups):
            curves: list[CurvePoints] = [getattr(result, key) for result in each.results]
            area = format_score(interval_over([curve.area for curve in curves]))
            for seed, curve in enumerate(curves):
                (line,) = axes.plot(curve.x, curve.y, color=style.color(number), drawstyle=how.drawstyle)
                line.set(linestyle=style.linestyle(number), label=None if seed else f"{area}  {each.name}")
        chance = how.chance or (share_of_new, share_of_new)
        axes.plot((0, 1), chance, color=style.foreground, linestyle=":", linewidth=0.8, label="chance")
        if key == "acceptance":
            axes.plot([], [], linestyle="", label=f"{PAPER_AREA:.2f}  {PAPER}")
        axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=how.x, ylabel=how.y, title=how.title)
        axes.grid(visible=True)
        axes.set_yticks([0, 0.5, 1])
        axes.set_box_aspect(1)
        axes.legend(
            loc="upper left", bbox_to_anchor=(-0.1, -0.55), frameon=False, fontsize=6, handlelength=1.0
        )


def _draw_false_accepts(figure: FigureBase, groups: base.Groups[OpenSetResult], style: FigureStyle) -> None:
    """Images of new classes that were accepted, and the exemplars of the predicted classes."""
    accepts = [accept for each in groups for result in each.results for accept in result.false_accepts]
    if not accepts:
        raise NothingToDraw("no image of a new class was accepted")
    accepts = sorted(accepts, key=lambda accept: accept.novelty)[:MAX_FALSE_ACCEPTS]
    panels = iter(add_panels(figure, len(IMAGES) * len(accepts), columns=len(accepts)))
    for key, label in IMAGES.items():
        for column, accept in enumerate(accepts):
            axes = next(panels)
            axes.imshow(getattr(accept, key), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            if not column:
                axes.set_ylabel(label, rotation=0, ha="right", va="center", color=style.foreground)


OpenSet.figures = {
    "open-set": FigurePart(_curves_height, _draw_curves),
    "false-accepts": FigurePart(lambda groups: canvas_height(3, panel_height=0.62), _draw_false_accepts),
}
