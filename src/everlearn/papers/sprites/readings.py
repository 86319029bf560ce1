"""What is read off the curves of groups, and how it is said."""

from collections.abc import Mapping

from everlearn.papers.exhibit import Groups
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings


def after(groups: Groups, n_tasks: int) -> dict[str, float]:
    """Mean accuracy of each on all tasks seen, after so many of them (or at the evaluation before that)."""
    return {name: _at(group, n_tasks) for name, group in groups.items()}


def _at(group: Group, n_tasks: int) -> float:
    line = group.line(Findings.accuracy)
    return float(line.mean[line.x <= max(n_tasks, line.x[0])][-1])


def each_after(group: Group, n_tasks: int) -> list[float]:
    """The same for one of them, under each seed."""
    curves = [run.accuracy() for run in group.runs]
    return [curve[max((n for n in curve if n <= n_tasks), default=min(curve))] for curve in curves]


def first(group: Group) -> float:
    """After the first evaluation."""
    return float(group.line(Findings.accuracy).mean[0])


def last(group: Group) -> float:
    """After the last task."""
    return float(group.line(Findings.accuracy).mean[-1])


def best(group: Group, since: int = 0) -> float:
    """The highest it ever was, from some task on."""
    line = group.line(Findings.accuracy)
    return float(line.mean[line.x >= min(since, line.x[-1])].max())


def forgotten(group: Group, n_tasks: int) -> list[float]:
    """How far earlier tasks have fallen from their best, after so many tasks, under each seed."""
    return [run.forgetting()[n_tasks] for run in group.runs]


def shortest(groups: Groups) -> int:
    """Tasks that all of them met."""
    return min(group.n_tasks for group in groups.values())


def said(values: Mapping[str, float]) -> str:
    """Names and numbers in a row.

    Example:
        >>> said({"naive": 0.05, "dcl": 0.9985})
        'naive 0.050, dcl 0.999'
    """
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())
