"""Environments protocol: detection of environment changes, and use of latents in each environment."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import computed_field

from everlearn.evaluation import change_detection
from everlearn.evaluation.change_detection import DetectionSummary, StageDetection
from everlearn.evaluation.environment_data import environment_of
from everlearn.evaluation.latents import BoolArray, EncodedEnvironment, encode_environments
from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import Decodes, HasPosterior, InfersEnvironment
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import Axes, FigureBase, add_panels, hide_frame
from everlearn.rng import FloatArray
from everlearn.streams import Batch, Stream

MIN_POSITION_R2 = 0.5
"""R² from which on a latent encodes positions."""


class LatentUse(base.Result):
    """Latents in one environment.

    `position_r2` is the share of each latent's variance that the position explains; empty if positions are
    constant.
    """

    name: str  # of the environment
    active: tuple[bool, ...]
    used: tuple[bool, ...]
    position_r2: tuple[float, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def position_latents(self) -> tuple[int, ...]:
        """The used latents that encode positions."""
        return tuple(n for n, r2 in enumerate(self.position_r2) if r2 >= MIN_POSITION_R2 and self.used[n])


class EnvironmentsResult(base.Result):
    """Detection of environment changes, and use of latents in each environment.

    Learners that do not infer environments have no stages and no detection scores.
    """

    stages: tuple[StageDetection, ...]
    detection: DetectionSummary | None
    latents: tuple[LatentUse, ...]
    n_batches: tuple[int, ...] = ()  # batches of each stage
    changes: tuple[tuple[int, int], ...] = ()  # batches seen and inferred environment, at every change

    @computed_field  # type: ignore[prop-decorator]
    @property
    def shared_position_latents(self) -> tuple[int, ...]:
        """Latents that encode positions in every environment with varying positions."""
        moving = [set(each.position_latents) for each in self.latents if each.position_r2]
        return tuple(sorted(set.intersection(*moving))) if moving else ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def masked_position_latents(self) -> tuple[int, ...]:
        """Position latents that are masked in every environment with constant positions."""
        still = [each.active for each in self.latents if not each.position_r2]
        shared = self.shared_position_latents
        return tuple(n for n in shared if not any(active[n] for active in still))

    def table(self) -> base.Table:
        latents = {
            **{f"used latents in {each.name}": np.flatnonzero(each.used).tolist() for each in self.latents},
            "shared position latents": self.shared_position_latents,
            "masked position latents": self.masked_position_latents,
        }
        rows = [
            *((s.name, s.detected, None if s.delay is None else int(s.delay)) for s in self.stages),
            *((name, base.comma_separated(numbers), "") for name, numbers in latents.items()),
        ]
        return base.Table(("environment", "detected as", "delay (batches)"), rows)


class Environments(base.Protocol[EnvironmentsResult]):
    """Detection of environment changes, and use of latents in each environment."""

    requires: ClassVar[tuple[Any, ...]] = (HasPosterior, Decodes)

    n_images: base.NImages = 1000
    """Test images per environment."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> EnvironmentsResult:
        n_batches = context["n_batches"]
        changes = learner.environment_changes() if isinstance(learner, InfersEnvironment) else None
        stages: list[StageDetection] = []
        if changes is not None and n_batches:
            names = [environment_of(task) for task in stream.take(n_tasks)]
            stages = change_detection.detect_stages(names, n_batches, changes)
        encoded = encode_environments(learner, stream, n_tasks, self.n_images, n_batches)
        return EnvironmentsResult(
            stages=tuple(stages),
            detection=change_detection.summarize_detection(stages, sum(n_batches)) if stages else None,
            latents=tuple(map(_latent_use, encoded)),
            n_batches=tuple(n_batches) if stages else (),
            changes=tuple(changes or ()) if stages else (),
        )


def position_r2(codes: FloatArray, batch: Batch) -> tuple[float, ...]:
    """R² of each code as a cubic polynomial of the position; empty if positions are constant or unknown."""
    factors = batch.factors
    if factors is None or not (np.ptp(factors.x) > 0 or np.ptp(factors.y) > 0):
        return ()
    x, y = 2 * factors.x - 1, 2 * factors.y - 1
    terms = np.stack([x**i * y**j for i in range(4) for j in range(4 - i)], axis=1)
    centred = codes - codes.mean(axis=0)
    residuals = centred - terms @ np.linalg.lstsq(terms, centred, rcond=None)[0]
    total = (centred**2).sum(axis=0)
    r2 = 1 - np.divide((residuals**2).sum(axis=0), total, out=np.ones_like(total), where=total > 1e-12)
    return tuple(np.round(r2, 6).tolist())


def _latent_use(encoded: EncodedEnvironment) -> LatentUse:
    return LatentUse(
        name=encoded.name,
        active=tuple(encoded.active.tolist()),
        used=tuple(encoded.used.tolist()),
        position_r2=position_r2(encoded.mean, encoded.data.test),
    )


def _height(groups: base.Groups[EnvironmentsResult]) -> float:
    shown = base.first_results(groups)
    return 0.3 + len(shown) * (0.55 + 0.2 * max(len(result.latents) for _, result in shown))


def _draw(figure: FigureBase, groups: base.Groups[EnvironmentsResult], style: FigureStyle) -> None:
    """Latents in each environment: used, active, masked; dots mark latents that encode positions."""
    shown = base.first_results(groups)
    n_latents = max(len(result.latents[0].active) for _, result in shown)
    panels = add_panels(figure, len(shown))
    for axes, (name, result) in zip(panels, shown, strict=True):
        marks = _draw_latents(axes, result.latents, style)
        axes.set(title=name, xlim=(-0.7, n_latents - 0.3))
    panels[-1].set_xlabel("latent")
    figure.legend(marks.values(), marks.keys(), loc="outside upper right", ncols=len(marks), frameon=False)


def _draw_latents(axes: Axes, latents: Sequence[LatentUse], style: FigureStyle) -> dict[str, Any]:
    """A row for each environment; returns the marks for the legend."""
    active, used = (np.array([getattr(each, key) for each in latents], bool) for key in ("active", "used"))
    n_latents = active.shape[1]
    position = np.array([[n in each.position_latents for n in range(n_latents)] for each in latents])
    styles: dict[str, tuple[BoolArray, dict[str, Any]]] = {
        "used": (used, {"marker": "s", "color": style.color(0), "s": 60}),
        "encodes position": (
            position,
            {"marker": "o", "color": style.background, "edgecolor": style.foreground, "s": 16, "zorder": 3},
        ),
        "active": (
            active & ~used,
            {"marker": "s", "color": style.background, "edgecolor": style.faint, "s": 60},
        ),
        "masked": (~active, {"marker": "x", "color": style.foreground, "s": 24, "linewidth": 1}),
    }
    marks = {}
    for name, (where, mark) in styles.items():
        y, x = np.nonzero(where)
        marks[name] = axes.scatter(x, y, **{"zorder": 2, **mark})
    axes.set_yticks(range(len(latents)), [each.name for each in latents])
    axes.set_ylim(len(latents) - 0.4, -0.6)
    hide_frame(axes)
    return marks


def _with_timeline(groups: base.Groups[EnvironmentsResult]) -> list[tuple[str, EnvironmentsResult]]:
    """All seeds of learners that infer environments, with their names."""
    return [
        (group.name if len(group.results) == 1 else f"{group.name}, run {number + 1}", result)
        for group in groups
        for number, result in enumerate(group.results)
        if result.n_batches
    ]


def _timeline_height(groups: base.Groups[EnvironmentsResult]) -> float:
    return 0.5 + 0.55 * max(1, len(_with_timeline(groups)))


def _draw_timeline(figure: FigureBase, groups: base.Groups[EnvironmentsResult], style: FigureStyle) -> None:
    """Stages of the stream (above) and inferred environments (below) over all batches of each run."""
    shown = _with_timeline(groups)
    if not shown:
        figure.text(0.5, 0.5, "no learner infers environments", ha="center", va="center")
        return
    panels = add_panels(figure, len(shown), share_x=True)
    for axes, (name, result) in zip(panels, shown, strict=True):
        ends = np.cumsum(result.n_batches)
        starts = [0, *(after - 1 for after, _ in result.changes)]
        inferred = [0, *(environment for _, environment in result.changes)]
        first = list(dict.fromkeys(stage.name for stage in result.stages))
        for stage, end, length in zip(result.stages, ends, result.n_batches, strict=True):
            color = style.color(first.index(stage.name))
            _bar(axes, 1, int(end) - length, int(end), color, stage.name)
        for start, end, number in zip(starts, [*starts[1:], int(ends[-1])], inferred, strict=True):
            _bar(axes, 0, start, end, style.color(number), str(number))
        axes.set_yticks([1, 0], ["stage", "inferred"], fontsize=6.5)
        axes.set_title(name, fontsize=7)
        hide_frame(axes)
    panels[-1].tick_params(labelbottom=True)
    panels[-1].set_xlabel("batches")


def _bar(axes: Axes, y: int, start: int, end: int, color: str, text: str) -> None:
    axes.barh(y, end - start, 0.8, left=start, color=color, alpha=0.6, linewidth=0)
    axes.text((start + end) / 2, y, text, ha="center", va="center", fontsize=6.5, clip_on=True)


Environments.figures = {
    "latent-usage": FigurePart(_height, _draw),
    "environment-timeline": FigurePart(_timeline_height, _draw_timeline),
}
