"""Required accuracies, beside those of the product and of the best baseline."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.photos.new_user import CONDITIONS
from benchmarks.photos.queries import PRODUCT
from benchmarks.photos.records import Result, accuracy, load
from benchmarks.photos.sets import SETS

OWN = (PRODUCT, "everlearn-gradients", "character-network")
"""Methods that are no baselines."""

STRONG = (
    "occluder 0.1", "clutter 16", "lighting 0.9", "noise 0.2", "texture 0.4",
    "perspective 0.2", "bending 0.1",
)  # fmt: skip
"""Greatest strengths of docs/dcl.md, or the next one that is asked; those in the middle where it has none."""


@dataclass(frozen=True)
class Goal:
    """A required accuracy; None means: above the best baseline."""

    query_set: str
    trial: str
    condition: str
    accuracy: float | None


GOALS = (
    *(
        Goal("new-user", "all taught", condition, 0.97 if condition == "clean" else 0.9)
        for condition in CONDITIONS
    ),
    *(Goal("aloi", "1 view", f"{angle} degrees", None) for angle in (30, 90, 180)),
    Goal("aloi-4-views", "4 views", "32 other views", 0.97),
    *(Goal("eth80", f"{n} exemplars", "on photos", None) for n in (1, 4, 8)),
    Goal("grocery", "iconic image", "test photos", 0.25),
    Goal("grocery", "training photos", "test photos", 0.62),
    *(
        Goal("omniglot-242", f"{n} exemplars", "other hands", goal)
        for n, goal in ((1, 0.6), (5, 0.8), (10, 0.87))
    ),
    Goal("omniglot-20", "any alphabets", "another hand", 0.9),
    *(Goal("sprites", "1 exemplar", condition, 0.95) for condition in ("clean", *STRONG)),
)


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each goal: what, goal, product, best baseline, and whether the goal is reached."""
    for goal in GOALS:
        ours, best = _accuracy(goal, PRODUCT), max(_baselines(goal), default=None)
        required = goal.accuracy if goal.accuracy is not None else best[0] if best else None
        reached = (
            "" if ours is None or required is None else "reached" if ours >= required else "**not reached**"
        )
        yield (
            f"{goal.query_set}: {goal.trial}, {goal.condition}",
            "above the best baseline" if goal.accuracy is None else f"{goal.accuracy:.2f}",
            "not run yet" if ours is None else f"{ours:.3f}",
            "not run yet" if best is None else f"{best[0]:.3f} ({best[1]})",
            reached,
        )


def _baselines(goal: Goal) -> Iterator[tuple[float, str]]:
    for method in SETS[goal.query_set].methods:
        found = None if method in OWN else _accuracy(goal, method)
        if found is not None:
            yield found, method


def _accuracy(goal: Goal, method: str) -> float | None:
    results: list[Result] = [
        result
        for result in load(goal.query_set, method)
        if (result.trial, result.condition) == (goal.trial, goal.condition)
    ]
    return accuracy(results).mean if results else None
