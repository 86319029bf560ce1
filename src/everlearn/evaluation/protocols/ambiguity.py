"""Ambiguity protocol: environment inference on images mixed from two environments, alone and in context."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from everlearn.errors import BadInput, unknown
from everlearn.evaluation.latents import EncodedEnvironment, decode_images, encode_environments, tile
from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import Decodes, HasPosterior, InfersEnvironment
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import Axes, FigureBase, hide_frame, stacked
from everlearn.plotting.image_grid import add_gaps, n_square_tiles
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams import Stream
from everlearn.streams.stream import Images

WEIGHTS = np.linspace(0, 1, 41)
"""Weights of the first environment in a mixed image."""
BATCH_SIZE = 64
N_MIXED = (8, 16, 24, 32, 40, 48, 56)
"""Mixed images per batch; the others are the context."""
N_BATCHES = 50
"""Batches per weight."""
N_EXAMPLES = 9
"""Weights at which a mixed image is stored."""
HEIGHT = 3.6
"""Inches per group in a figure."""


class Transition(base.Result):
    """Where a decision changes: the weight at 0.5, and the width from 0.1 to 0.9."""

    point: float
    width: float


class DecisionCurve(base.Result):
    """Decisions about batches of mixed images in some context."""

    context: str  # environment of the other images of a batch; empty if there are none
    n_mixed: int  # mixed images per batch
    decided: tuple[float, ...]  # share of batches inferred as the first environment, at every weight
    transition: Transition | None  # where the decision changes; None if it never does


class AmbiguityResult(base.Result):
    """Environment inference on images w * first + (1 - w) * second.

    `stds` are mean posterior standard deviations of the latents that only the first, and only the second
    environment uses, at every weight; None if there are no such latents.
    """

    names: tuple[str, str]  # the two environments
    environments: tuple[int, int]  # their numbers, as the learner infers them
    weights: tuple[float, ...]  # w
    probabilities: tuple[float, ...]  # mean probability of the first environment for single images
    curves: tuple[DecisionCurve, ...]  # without context first, then in each context
    stds: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
    examples: base.ImageArray  # mixed images at some weights, below decoded in each environment

    @property
    def without_context(self) -> DecisionCurve:
        """The decisions about batches of mixed images only."""
        return next(curve for curve in self.curves if not curve.context)

    def table(self) -> base.Table:
        rows: list[tuple[Any, ...]] = []
        for curve in self.curves:
            at = curve.transition
            rows.append((curve.context or None, curve.n_mixed, at and at.point, at and at.width))
        return base.Table(("context", "mixed images", f"weight of {self.names[0]}", "width"), rows)


class Ambiguity(base.Protocol[AmbiguityResult]):
    """Environment inference on batches of images mixed from two environments, alone and in context.

    A batch is inferred as the environment with the highest mean probability of its images, so that images of
    one environment in the batch, its context, can change the decision.
    """

    requires: ClassVar[tuple[Any, ...]] = (InfersEnvironment, HasPosterior, Decodes)

    between: Annotated[tuple[str, ...], base.SPLIT] = ()
    """Two environments, such as mnist,inverted-fashion (default: the first two of the stream)."""
    n_images: Annotated[int, Field(ge=BATCH_SIZE, le=base.MAX_IMAGES)] = 256
    """Pairs of images that are mixed."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> AmbiguityResult:
        encoded = encode_environments(
            learner, stream, n_tasks, self.n_images, context["n_batches"], at_least=2
        )
        first, second = _chosen(encoded, self.between)
        mixed = [_mix(first, second, weight) for weight in WEIGHTS]
        probabilities = [learner.environment_probabilities(images) for images in mixed]
        std = np.stack([learner.posterior(images)[1].mean(axis=0) for images in mixed])
        return AmbiguityResult(
            names=(first.name, second.name),
            environments=(first.environment, second.environment),
            weights=_rounded(WEIGHTS),
            probabilities=_rounded(np.array([each[:, first.environment].mean() for each in probabilities])),
            curves=tuple(_curves(learner, probabilities, first, second)),
            stds=(_mean_std(std, first.used & ~second.used), _mean_std(std, second.used & ~first.used)),
            examples=_examples(learner, mixed, first, second),
        )


def transition(weights: FloatArray, decided: FloatArray) -> Transition | None:
    """Where decisions first rise through 0.5; None if they do not rise from below 0.1 to 0.9."""
    low, half, high = (_crossing(weights, decided, level) for level in (0.1, 0.5, 0.9))
    if low is None or half is None or high is None:
        return None
    return Transition(point=half, width=round(high - low, 6))


def _crossing(weights: FloatArray, decided: FloatArray, level: float) -> float | None:
    """The interpolated weight at which decisions first reach a level."""
    above = np.flatnonzero(decided >= level)
    if not len(above) or above[0] == 0:
        return None
    after = int(above[0])
    low, high = decided[after - 1], decided[after]
    share = (level - low) / (high - low)
    return round(float(weights[after - 1] + share * (weights[after] - weights[after - 1])), 6)


def _chosen(
    encoded: list[EncodedEnvironment], between: Sequence[str]
) -> tuple[EncodedEnvironment, EncodedEnvironment]:
    known = {each.name: each for each in encoded}
    names = list(between) or list(known)[:2]
    for name in names:
        if name not in known:
            raise unknown("environment", name, known)
    if len(set(names)) != 2:
        raise BadInput(f"between is {', '.join(names)}; give two different environments")
    for each in (known[name] for name in names):
        if len(each.mean) < BATCH_SIZE:
            raise BadInput(f"{each.name} has {len(each.mean)} test images; batches need {BATCH_SIZE}")
    return known[names[0]], known[names[1]]


def _mix(first: EncodedEnvironment, second: EncodedEnvironment, weight: float) -> Images:
    n = min(len(first.mean), len(second.mean))
    one, other = (
        each.data.test.images[rng_at(0, "ambiguous pairs", side).permutation(len(each.mean))[:n]]
        for side, each in enumerate((first, second))
    )
    return np.round(weight * one.astype(np.float64) + (1 - weight) * other).astype(np.uint8)


def _curves(
    model: Any, probabilities: list[FloatArray], first: EncodedEnvironment, second: EncodedEnvironment
) -> Iterator[DecisionCurve]:
    rows = _batch_rows(len(probabilities[0]))
    yield _curve("", BATCH_SIZE, [each[rows].mean(axis=1) for each in probabilities], first)
    for context in (first, second):
        real = model.environment_probabilities(context.data.test.images)
        around = real[_batch_rows(len(real))]
        for n in N_MIXED:
            sums = [each[rows[:, :n]].sum(axis=1) + around[:, n:].sum(axis=1) for each in probabilities]
            yield _curve(context.name, n, sums, first)


def _curve(context: str, n_mixed: int, scores: list[FloatArray], first: EncodedEnvironment) -> DecisionCurve:
    """The decisions that follow from scores (n_batches, n_known) at each weight."""
    decided = np.array([(each.argmax(axis=1) == first.environment).mean() for each in scores])
    return DecisionCurve(
        context=context, n_mixed=n_mixed, decided=_rounded(decided), transition=transition(WEIGHTS, decided)
    )


def _batch_rows(n: int) -> IntArray:
    """Rows of n images in each batch, (N_BATCHES, BATCH_SIZE)."""
    return np.stack([rng_at(0, "ambiguity", k).permutation(n)[:BATCH_SIZE] for k in range(N_BATCHES)])


def _mean_std(std: FloatArray, latents: npt.NDArray[np.bool_]) -> tuple[float, ...] | None:
    return _rounded(std[:, latents].mean(axis=1)) if latents.any() else None


def _examples(
    model: Any, mixed: list[Images], first: EncodedEnvironment, second: EncodedEnvironment
) -> Images:
    shown = np.stack([mixed[n][0] for n in np.linspace(0, len(mixed) - 1, N_EXAMPLES).astype(int)])
    means, _ = model.posterior(shown)
    decoded = (decode_images(model, means * each.active, each.environment) for each in (first, second))
    return tile([shown, *decoded])


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.round(6).tolist())


def _draw(figure: FigureBase, groups: base.Groups[AmbiguityResult], style: FigureStyle) -> None:
    """Images mixed from two environments: reconstructions, inferred environments, uncertainty."""
    shown = base.first_results(groups)
    titles = [f"{name}; light: batch inferred as {result.names[0]}" for name, result in shown]
    for part, (_, result) in zip(stacked(figure, [1] * len(shown), titles), shown, strict=True):
        above, below = stacked(part, (1.25, 2))
        _draw_examples(above.subplots(), result)
        panels = below.subplots(1, 3, width_ratios=(1, 1, 1.1))
        for axes, context in zip(panels[:2], result.names, strict=True):
            _draw_decisions(axes, result, context, style)
        panels[0].set_ylabel(f"mixed, of {BATCH_SIZE}")
        _draw_uncertainty(panels[2], result, style)


def _draw_examples(axes: Axes, result: AmbiguityResult) -> None:
    first, second = result.names
    n_columns = n_square_tiles(result.examples, 3)
    page = add_gaps(result.examples, 3, n_columns)
    axes.imshow(page, interpolation="nearest")
    labels = ["mixed", f"decoded in {first}", f"decoded in {second}"]
    axes.set_yticks((np.arange(3) + 0.5) * page.shape[0] / 3, labels, fontsize=6.5)
    ticks = (np.arange(n_columns) + 0.5) * page.shape[1] / n_columns
    axes.set_xticks(ticks, [f"{weight:.2g}" for weight in np.linspace(0, 1, n_columns)], fontsize=6.5)
    axes.set_xlabel(f"weight of {first}; the rest is {second}")
    hide_frame(axes)


def _draw_decisions(axes: Axes, result: AmbiguityResult, context: str, style: FigureStyle) -> None:
    """Share of batches inferred as the first environment, by weight and by number of mixed images."""
    curves = [curve for curve in result.curves if curve.context in (context, "")]
    curves.sort(key=lambda curve: curve.n_mixed)
    decided = np.array([curve.decided for curve in curves])
    extent = (0, 1, -0.5, len(curves) - 0.5)
    axes.imshow(decided, origin="lower", aspect="auto", cmap=style.colormap, vmin=0, vmax=1, extent=extent)
    points = [(curve.transition.point, row) for row, curve in enumerate(curves) if curve.transition]
    axes.plot(*zip(*points, strict=True) if points else ((), ()), color="#d05a00", marker="o", linewidth=1)
    axes.set_yticks(range(len(curves)), [str(curve.n_mixed) for curve in curves], fontsize=6.5)
    axes.set_xlabel(f"weight of {result.names[0]}")
    axes.set_title(f"context: {context}", fontsize=7)


def _draw_uncertainty(axes: Axes, result: AmbiguityResult, style: FigureStyle) -> None:
    """Probability of the first environment, and posterior std of latents used in one environment only."""
    stds = zip(result.names, result.stds, strict=True)
    lines = [(f"P({result.names[0]})", result.probabilities), *((f"σ, only in {n}", std) for n, std in stds)]
    for number, (name, values) in enumerate(lines):
        if values is not None:
            axes.plot(result.weights, values, color=style.color(number), label=name)
    if result.without_context.transition:
        point = result.without_context.transition.point
        axes.axvline(point, color=style.foreground, linestyle=":", linewidth=0.8)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=f"weight of {result.names[0]}")
    axes.grid(axis="y")
    axes.set_title("single images", fontsize=7)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=6, handlelength=1.0)


Ambiguity.figures = {"ambiguity": FigurePart(lambda groups: HEIGHT * len(base.first_results(groups)), _draw)}
