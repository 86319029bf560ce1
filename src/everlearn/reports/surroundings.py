"""What learners made of their environments, as cells of a table; `everlearn protocol environments` asks."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from everlearn.reports.groups import Group, interval
from everlearn.reports.quantities import DASH, share


def switches(group: Group) -> str:
    """Changes of environment that were rightly found, of how many there were; all seeds together."""
    found = list(_detections(group))
    return f"{_sum(found, 'n_right')} of {_sum(found, 'n_changes')}" if found else DASH


def noticed(group: Group) -> str:
    """Batches until the last change was noticed, in the slowest of all seeds."""
    late = [each["latest"] for each in _detections(group) if each["latest"] is not None]
    return f"{max(late):.0f}" if late else DASH


def made_up(group: Group) -> str:
    """Environments found where there was none, in 10,000 batches."""
    return share(interval([each["false_new"] for each in _detections(group)]))


def latents(group: Group) -> str:
    """Latents in use anywhere, and of these, those used in several environments."""
    used = [np.array([each["used"] for each in answer["latents"]]).sum(axis=0) for answer in answers(group)]
    there = ", ".join(f"{(n > 0).sum()} ({(n > 1).sum()})" for n in used)
    return there or DASH


def answers(group: Group) -> Iterator[Mapping[str, Any]]:
    """What each run answered, of those that were asked."""
    return (run.answers["environments"] for run in group.runs if "environments" in run.answers)


def _detections(group: Group) -> Iterator[Mapping[str, Any]]:
    return (answer["detection"] for answer in answers(group) if answer["detection"])


def _sum(rows: list[Mapping[str, Any]], name: str) -> int:
    return sum(int(row[name]) for row in rows)
