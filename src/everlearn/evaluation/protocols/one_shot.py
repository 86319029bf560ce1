"""One-shot protocol: accuracy on new classes that are stored in memory from one image each."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from everlearn.evaluation.intervals import UNIT, Curve, mean_series
from everlearn.evaluation.protocols import base
from everlearn.evaluation.samples import new_class_images
from everlearn.learners.capabilities import EditsMemory
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting import axes as plot
from everlearn.streams import Batch, Stream

NewClasses = Annotated[int, Field(ge=1, le=100_000)]

PANELS = {"standard": "new classes only", "generalized": "new and old classes", "old": "old classes"}
PAPER = "Dziadzio et al. 2023"
PAPER_SCORES = {"standard": (10, 1.00), "generalized": (10, 0.96)}
"""Number of new classes and accuracy after 200 tasks, for the cells of the paper's table that are legible."""


class Shots(base.Result):
    """Accuracies with some number of new classes in memory, one image each."""

    n_new: int
    n_images: int  # test images of new classes
    standard: float  # accuracy on them with only the new classes in memory
    generalized: float  # accuracy on them with the old classes in memory as well
    old: float  # accuracy on images of old classes with all classes in memory


class OneShotResult(base.Result):
    """Accuracies for each number of new classes."""

    n_old: int
    shots: tuple[Shots, ...]

    def table(self) -> base.Table:
        rows = [(each.n_new, *(getattr(each, key) for key in PANELS)) for each in self.shots]
        return base.Table(("new classes", *PANELS.values()), rows)


class OneShot(base.Protocol[OneShotResult]):
    """Accuracy on new classes that are stored from one image each, without training.

    Only the exemplar memory changes: "standard" holds the new classes only, "generalized" all classes
    (Dziadzio et al. 2023, section 5.7).
    """

    requires: ClassVar[tuple[Any, ...]] = (EditsMemory,)

    n_new: Annotated[tuple[NewClasses, ...], base.SPLIT, Field(min_length=1)] = (10, 100, 1000)
    """Numbers of new classes."""
    n_images: base.NImages = 1000
    """Test images, or one per new class if there are more classes."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> OneShotResult:
        n_old = len(learner.memory.classes())
        # Sampled for each count separately: results for one count do not depend on the others.
        samples = [new_class_images(stream, n_tasks, n, max(1, self.n_images // n)) for n in self.n_new]
        known = stream.eval_sample(n_tasks, self.n_images)
        with base.restored(learner) as before:
            shots = tuple(_shots(learner, *sample, known, before) for sample in samples)
        return OneShotResult(n_old=n_old, shots=shots)


def _shots(learner: Any, exemplars: Batch, test: Batch, known: Batch, before: dict[str, Any]) -> Shots:
    learner.load(before)
    memory = learner.memory
    old_labels = memory.classes()
    memory.add(exemplars)
    generalized, old = base.accuracy(learner, test), base.accuracy(learner, known)
    for label in old_labels:
        memory.forget(label)
    standard = base.accuracy(learner, test)
    return Shots(
        n_new=len(exemplars), n_images=len(test), standard=standard, generalized=generalized, old=old
    )


def _draw(figure: plot.FigureBase, groups: base.Groups[OneShotResult], style: FigureStyle) -> None:
    """Accuracy on new classes stored from one image each, by number of new classes."""
    panels = plot.add_panels(figure, len(PANELS), columns=len(PANELS), share_y=True)
    for axes, (key, title) in zip(panels, PANELS.items(), strict=True):
        lines = [mean_series([_curve(result, key) for result in each.results], UNIT) for each in groups]
        plot.draw_series(axes, lines, style)
        counts = sorted({int(x) for line in lines for x in line.x})
        n, score = PAPER_SCORES.get(key, (0, 0.0))
        if n in counts:
            axes.scatter(
                [n], [score], marker="D", facecolor="none", edgecolor=style.foreground, s=22, zorder=3
            )
            axes.annotate(PAPER, (n, score), xytext=(6, -9), textcoords="offset points", fontsize=6.5)
        if key == "standard":
            axes.plot(counts, [1 / n for n in counts], color=style.foreground, linestyle=":", linewidth=0.8)
            axes.annotate("chance", (counts[0], 1 / counts[0]), xytext=(0, 3), textcoords="offset points")
        axes.set_xscale("log")
        axes.set_xticks(counts, [f"{n:,}" for n in counts])
        axes.minorticks_off()
        axes.set_xlabel("new classes")
        axes.set_title(title)
    plot.unit_y_axis(panels[0], "accuracy")
    plot.label_lines(panels[-1], [each.name for each in groups], style)


def _curve(result: OneShotResult, key: str) -> Curve:
    return {shot.n_new: getattr(shot, key) for shot in result.shots}


OneShot.figures = {"one-shot": FigurePart(lambda groups: plot.canvas_height(1, panel_height=2.2), _draw)}
