"""How much of what could be read from codes stays when the environment it belongs to is over."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

ACCURACIES = ("object",)
"""What is read as a share of right answers; all else is a mean squared error, where less is better."""


class Probing(NamedTuple):
    """What could be read at one moment.

    Attributes:
        task: the task that was learned last, or that was being learned.
        shown: the environment that it shows.
        batch: batches of it that were learned by then; None when it was over.
        found: for each environment, how well each thing was read.
    """

    task: int
    shown: str
    batch: int | None
    found: Mapping[str, Mapping[str, float]]


class Retention(NamedTuple):
    """How well one probe does over a run.

    Attributes:
        final: at the end.
        best: at its best moment.
        change: at the end, less its best until the last stage that showed it was over.
        after: mean of all moments after that stage, less the moment at its end; NaN if none came after.
    """

    final: float
    best: float
    change: float
    after: float


def probes_of(rows: Sequence[Probing]) -> list[tuple[str, str]]:
    """Every probe there is, as environment and quantity."""
    found = rows[-1].found if rows else {}
    return [(place, quantity) for place, read in found.items() for quantity in read]


def retention(rows: Sequence[Probing], place: str, quantity: str) -> Retention:
    """What became of one probe.

    Best and change are a working definition: the paper's own is in an appendix that is not at hand.

    Example:
        >>> found = [("a", 0.5), ("a", 0.8), ("b", 0.9), ("b", 0.6)]
        >>> rows = [Probing(k, shown, None, {"a": {"object": x}}) for k, (shown, x) in enumerate(found)]
        >>> [round(each, 2) for each in retention(rows, "a", "object")]
        [0.6, 0.9, -0.2, -0.05]
    """
    better = max if quantity in ACCURACIES else min
    values = [row.found[place][quantity] for row in rows]
    last = max((row.task for row in rows if row.shown == place), default=rows[-1].task)
    until = [value for value, row in zip(values, rows, strict=True) if row.task <= last]
    later = values[len(until) :]
    after = math.fsum(later) / len(later) - until[-1] if later else math.nan
    return Retention(values[-1], better(values), values[-1] - better(until), after)


def retained(rows: Sequence[Probing], quantity: str) -> Retention:
    """The mean over all environments in which a thing is read; NaN where there is none.

    Example:
        >>> retained([], "object").best
        nan
    """
    found = [retention(rows, place, each) for place, each in probes_of(rows) if each == quantity]
    return Retention(*map(_mean, zip(*found, strict=True))) if found else Retention(*[math.nan] * 4)


def retention_measures(rows: Sequence[Probing]) -> Iterator[tuple[str, float]]:
    """What tables say of a run, by names such as "object_change"."""
    for quantity in ("object", "position"):
        for name, value in retained(rows, quantity)._asdict().items():
            yield f"{quantity}_{name}", value


def _mean(values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    return math.fsum(there) / len(there) if there else math.nan
