"""What a learner makes of images between two environments, and how the company they are in matters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from everlearn.errors import BadInput, check_range, unknown
from everlearn.evaluation.protocols.base import MAX_IMAGES, Situates, situated
from everlearn.evaluation.protocols.environments import BoolArray, View, several_views
from everlearn.evaluation.protocols.traversal import images, tiled
from everlearn.learners import Learner
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.serialization import image_to_json
from everlearn.streams import Stream
from everlearn.streams.stream import Images

WEIGHTS = np.linspace(0, 1, 41)
"""Shares of the first environment in a mixed image."""
BATCH = 64
"""Images that are decided about together."""
MIXED = (8, 16, 24, 32, 40, 48, 56)
"""How many of them are mixed; the others are the context."""
N_BATCHES = 50
"""Batches that are decided about at every weight."""
EXAMPLES = 9
"""Weights at which a mixed image is kept."""


class Flip(NamedTuple):
    """Where a decision changes: at which weight, and over how many weights it goes from 0.1 to 0.9."""

    point: float
    width: float


@dataclass(frozen=True)
class Curve:
    """The decisions about batches of mixed images in some context.

    Attributes:
        context: the environment whose images are in the batch as well; empty if there are none.
        n_mixed: how many images of a batch are mixed.
        decided: share of batches taken for the first environment, at every weight.
        flip: where that changes; None if it never does.
    """

    context: str
    n_mixed: int
    decided: tuple[float, ...]
    flip: Flip | None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**vars(self), "flip": None if self.flip is None else self.flip._asdict()}


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """What becomes of images w * first + (1 - w) * second.

    Attributes:
        names: the two environments, as the stream calls them.
        environments: what the learner takes each for.
        weights: w.
        chances: how likely a mixed image by itself is of the first environment to the learner, on average.
        curves: decisions about batches: without context first, then in each context.
        deviations: mean standard deviation of the latents that only the first environment uses, and of those
            that only the second uses, at every weight; None where there is no such latent.
        examples: a mixed image at some weights, and below how it is drawn in each environment.
    """

    names: tuple[str, str]
    environments: tuple[int, int]
    weights: tuple[float, ...]
    chances: tuple[float, ...]
    curves: tuple[Curve, ...]
    deviations: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
    examples: Images

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; images are packed."""
        curves = [each.to_json() for each in self.curves]
        return {**vars(self), "curves": curves, "examples": image_to_json(self.examples)}


def ambiguity(
    learner: Learner,
    stream: Stream,
    n_tasks: int,
    *,
    between: Sequence[str] = (),
    size: int = 256,
    batches: Sequence[int] = (),
) -> Ambiguity:
    """Mix images of two environments, and ask which of the two a batch of them comes from.

    A batch is taken for the environment that its images speak for on average, so that unmixed images
    among them, its context, can move the decision.

    Args:
        learner: one that tells environments apart.
        stream: what it met.
        n_tasks: how many tasks of the stream the learner met.
        between: the names of two environments; the first two that came if not said.
        size: pairs of images that are mixed.
        batches: how many it learned in each task, which tells the environments where it learned them.
    """
    judge = situated(learner)
    check_range("size", size, BATCH, MAX_IMAGES)
    first, second = _chosen(several_views(judge, stream, n_tasks, size, batches), between)
    _check_enough(first, second)
    mixed = [_mixed(first, second, weight) for weight in WEIGHTS]
    chances = [judge.environment_probabilities(images) for images in mixed]
    spread = np.stack([judge.posterior(images)[1].mean(axis=0) for images in mixed])
    return Ambiguity(
        names=(first.scene.name, second.scene.name),
        environments=(first.environment, second.environment),
        weights=_told(WEIGHTS),
        chances=_told(np.array([each[:, first.environment].mean() for each in chances])),
        curves=tuple(_curves(judge, chances, first, second)),
        deviations=(_alone(spread, first.used & ~second.used), _alone(spread, second.used & ~first.used)),
        examples=_examples(judge, mixed, first, second),
    )


def flip(weights: FloatArray, decided: FloatArray) -> Flip | None:
    """Where decisions that begin low first rise through a half; None if they do not rise from 0.1 to 0.9.

    Example:
        >>> flip(np.array([0.0, 0.4, 0.6, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
        Flip(point=0.5, width=0.16)
    """
    places = [_crossing(weights, decided, level) for level in (0.1, 0.5, 0.9)]
    low, half, high = (None if place is None else round(place, 6) for place in places)
    return None if low is None or half is None or high is None else Flip(half, round(high - low, 6))


def _crossing(weights: FloatArray, decided: FloatArray, level: float) -> float | None:
    above = np.flatnonzero(decided >= level)
    if not len(above) or above[0] == 0:
        return None
    after = int(above[0])
    low, high = decided[after - 1], decided[after]
    share = (level - low) / (high - low)
    return float(weights[after - 1] + share * (weights[after] - weights[after - 1]))


def _chosen(seen: list[View], between: Sequence[str]) -> tuple[View, View]:
    known = {view.scene.name: view for view in seen}
    names = list(between) or list(known)[:2]
    for name in names:
        if name not in known:
            raise unknown("environment", name, known)
    if len(set(names)) != 2:
        raise BadInput(f"between is {', '.join(names)}; name two environments that differ")
    return known[names[0]], known[names[1]]


def _check_enough(*seen: View) -> None:
    for view in seen:
        if len(view.mean) < BATCH:
            raise BadInput(
                f"{view.scene.name} has {len(view.mean)} test images; batches of {BATCH} are mixed, "
                "so play a stream with as many"
            )


def _mixed(first: View, second: View, weight: float) -> Images:
    n = min(len(first.mean), len(second.mean))
    one, other = (
        view.scene.test.images[rng_at(0, "ambiguous pairs", side).permutation(len(view.mean))[:n]]
        for side, view in enumerate((first, second))
    )
    return np.round(weight * one.astype(np.float64) + (1 - weight) * other).astype(np.uint8)


def _curves(judge: Situates, chances: list[FloatArray], first: View, second: View) -> Iterator[Curve]:
    rows = _drawn_rows(len(chances[0]))
    yield _curve("", BATCH, [each[rows].mean(axis=1) for each in chances], first)
    for view in (first, second):
        real = judge.environment_probabilities(view.scene.test.images)
        around = real[_drawn_rows(len(real))]
        for n in MIXED:
            sums = [each[rows[:, :n]].sum(axis=1) + around[:, n:].sum(axis=1) for each in chances]
            yield _curve(view.scene.name, n, sums, first)


def _curve(context: str, n_mixed: int, spoken: list[FloatArray], first: View) -> Curve:
    """The decisions that follow from what batches speak for, (n_batches, n_known) at each weight."""
    decided = np.array([(each.argmax(axis=1) == first.environment).mean() for each in spoken])
    return Curve(context, n_mixed, _told(decided), flip(WEIGHTS, decided))


def _drawn_rows(n: int) -> IntArray:
    """Of n images those in each batch, (N_BATCHES, BATCH)."""
    return np.stack([rng_at(0, "ambiguity", number).permutation(n)[:BATCH] for number in range(N_BATCHES)])


def _alone(spread: FloatArray, which: BoolArray) -> tuple[float, ...] | None:
    return _told(spread[:, which].mean(axis=1)) if which.any() else None


def _examples(judge: Situates, mixed: list[Images], first: View, second: View) -> Images:
    chosen = np.linspace(0, len(mixed) - 1, EXAMPLES).astype(int)
    shown = np.stack([mixed[n][0] for n in chosen])
    means, _ = judge.posterior(shown)
    again = [images(judge, means * view.open, view.environment) for view in (first, second)]
    return tiled([shown, *again])


def _told(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.round(6).tolist())
