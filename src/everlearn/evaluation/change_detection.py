"""Whether a learner noticed that its environment had changed, against the truth."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

STEPS = 10_000
"""Batches that false alarms are counted over."""

Finding = Literal["new", "known", "missed"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of the truth, and what a learner made of it.

    Attributes:
        name: the environment that it shows.
        is_new: whether that was never shown before.
        found: "new", if the learner took it for an environment it had never met; "known", for the one that it
            is; "missed", if neither.
        delay: batches until then; NaN if it was missed.
        false_new: environments made up beside.
        wrong: moves to an environment that it is not.
    """

    name: str
    is_new: bool
    found: Finding
    delay: float
    false_new: int
    wrong: int

    @property
    def is_right(self) -> bool:
        """Whether what is new was found to be new, and what came back to be known."""
        return self.found == ("new" if self.is_new else "known")


def detection(
    names: Sequence[str], n_batches: Sequence[int], changes: Iterable[tuple[int, int]]
) -> list[Stage]:
    """What a learner made of each stage.

    An environment of the learner is called after the stage in which it was found.

    Args:
        names: the environment that each stage shows.
        n_batches: how long it is.
        changes: after how many batches the learner moved, and to which of its environments; it begins in 0.

    Example:
        >>> for stage in detection(["a", "b", "a"], [10, 10, 10], [(13, 1), (18, 2), (22, 0)]):
        ...     print(stage.name, stage.found, stage.delay, stage.false_new)
        a new 0.0 0
        b new 3.0 1
        a known 2.0 0
    """
    moves, known, stages = list(changes), {0: names[0]}, []
    current = 0
    for k, start in enumerate(accumulate(n_batches[:-1], initial=0)):
        here = [(after - start, to) for after, to in moves if start < after <= start + n_batches[k]]
        is_new = names[k] not in names[:k]
        stages.append(_stage(names[k], is_new, current, here, known))
        current = here[-1][1] if here else current
    return stages


def _stage(
    name: str, is_new: bool, current: int, moves: Sequence[tuple[int, int]], known: dict[int, str]
) -> Stage:
    """One stage; environments that are found in it are added to the known ones."""
    is_there = known[current] == name
    found: Finding = "missed" if not is_there else "new" if is_new else "known"
    delay, false_new, wrong = 0.0 if is_there else math.nan, 0, 0
    for after, to in moves:
        met = known.setdefault(to, "")
        if met in ("", name) and found == "missed":
            found, delay = "known" if met else "new", float(after)
        false_new += not met and (not is_new or after != delay)
        wrong += met not in ("", name)
        known[to] = met or name
    return Stage(name=name, is_new=is_new, found=found, delay=delay, false_new=false_new, wrong=wrong)


@dataclass(frozen=True)
class Detection:
    """How well all changes of environment were noticed.

    Attributes:
        n_changes: changes there were.
        n_right: of these, rightly found to be new or known.
        n_missed: not noticed at all.
        latest: batches until the last of them was noticed; NaN if none was.
        false_new: environments made up, in 10,000 batches.
        wrong: moves to environments it was not, in 10,000 batches.
    """

    n_changes: int
    n_right: int
    n_missed: int
    latest: float
    false_new: float
    wrong: float


def summed_up(stages: Sequence[Stage], n_batches: int) -> Detection:
    """All stages of a run together; nothing has to be noticed in the first, nor where nothing changes.

    Example:
        >>> stages = detection(["a", "b"], [100, 100], [(103, 1)])
        >>> summed_up(stages, 200)
        Detection(n_changes=1, n_right=1, n_missed=0, latest=3.0, false_new=0.0, wrong=0.0)
    """
    changed = [stage for before, stage in pairwise(stages) if stage.name != before.name]
    delays = [stage.delay for stage in changed if stage.found != "missed"]
    return Detection(
        n_changes=len(changed),
        n_right=sum(stage.is_right for stage in changed),
        n_missed=sum(stage.found == "missed" for stage in changed),
        latest=float(max(delays, default=math.nan)),
        false_new=STEPS * sum(stage.false_new for stage in stages) / n_batches,
        wrong=STEPS * sum(stage.wrong for stage in stages) / n_batches,
    )
