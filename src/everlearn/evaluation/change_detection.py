"""Scores of inferred environment changes against the schedule of the stream."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

RATE_BATCHES = 10_000

Detected = Literal["new", "known", "missed"]
"""A switch to a new environment, to the one that was inferred for this environment before, or neither."""


@dataclass(frozen=True, kw_only=True)
class StageDetection:
    """Detection of one stage of the schedule by a learner."""

    name: str  # environment of the stage
    is_new: bool  # whether it is the first stage of this environment
    detected: Detected
    delay: float | None  # batches until the switch; None if missed
    n_false_new: int  # other new environments inferred during the stage
    n_wrong: int  # switches to an environment inferred for another one

    @property
    def is_correct(self) -> bool:
        """Whether a new environment was detected as new, a recurring one as known."""
        return self.detected == ("new" if self.is_new else "known")


@dataclass(frozen=True)
class DetectionSummary:
    """Detection scores of a whole run."""

    n_changes: int  # changes of environment in the schedule
    n_correct: int  # changes that were detected correctly
    n_missed: int  # changes that were not detected
    max_delay: float | None  # largest delay of a detected change in batches; None if none was detected
    false_new_rate: float  # falsely inferred new environments per 10,000 batches
    wrong_rate: float  # switches to wrong environments per 10,000 batches


def detect_stages(
    names: Sequence[str], n_batches: Sequence[int], changes: Iterable[tuple[int, int]]
) -> list[StageDetection]:
    """Detection of each stage of a schedule.

    An inferred environment belongs to the environment of the stage in which it was first inferred.

    Args:
        names: environment of each stage.
        n_batches: length of each stage.
        changes: (number of batches seen, inferred environment) of every switch; the learner starts in 0.
    """
    switches, known, stages = list(changes), {0: names[0]}, []
    current = 0
    for k, start in enumerate(accumulate(n_batches[:-1], initial=0)):
        here = [(after - start, to) for after, to in switches if start < after <= start + n_batches[k]]
        stages.append(_stage(names[k], names[k] not in names[:k], current, here, known))
        current = here[-1][1] if here else current
    return stages


def summarize_detection(stages: Sequence[StageDetection], n_batches: int) -> DetectionSummary:
    """Scores over all stages; only stages that differ from the previous one count as changes."""
    changed = [stage for before, stage in pairwise(stages) if stage.name != before.name]
    delays = [stage.delay for stage in changed if stage.delay is not None]
    return DetectionSummary(
        n_changes=len(changed),
        n_correct=sum(stage.is_correct for stage in changed),
        n_missed=sum(stage.detected == "missed" for stage in changed),
        max_delay=max(delays, default=None),
        false_new_rate=RATE_BATCHES * sum(stage.n_false_new for stage in stages) / n_batches,
        wrong_rate=RATE_BATCHES * sum(stage.n_wrong for stage in stages) / n_batches,
    )


def _stage(
    name: str, is_new: bool, current: int, switches: Sequence[tuple[int, int]], known: dict[int, str]
) -> StageDetection:
    """One stage; `known` maps inferred environments to names and is extended."""
    is_current = known[current] == name
    detected: Detected = "missed" if not is_current else "new" if is_new else "known"
    delay = 0.0 if is_current else None
    n_false_new = n_wrong = 0
    for after, to in switches:
        owner = known.setdefault(to, "")  # empty for an environment that is inferred for the first time
        if owner in ("", name) and detected == "missed":
            detected, delay = "known" if owner else "new", float(after)
        n_false_new += not owner and (not is_new or after != delay)
        n_wrong += owner not in ("", name)
        known[to] = owner or name
    return StageDetection(
        name=name, is_new=is_new, detected=detected, delay=delay, n_false_new=n_false_new, n_wrong=n_wrong
    )
