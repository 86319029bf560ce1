"""Accuracy over images, on a test set that grows with the classes met and on the whole of it; and how good
replayed patterns were.

An image of a class that has not come yet is answered wrongly by everybody, since nobody can name what nobody
has met. So what is known on the whole test set follows from what is known on the growing one, if that holds
every test image of the classes met; the sizes here see to it.
"""

import math
from collections.abc import Iterator

from everlearn.reports.run_results import Findings, Points


def growing(run: Findings) -> Points:
    """The share of right answers to all test images of classes met so far."""
    return {n: right / total for n, right, total in _counts(run)}


def whole(run: Findings) -> Points:
    """The share of right answers to all test images of classes met in the whole run."""
    counts = list(_counts(run))
    n_images = counts[-1][2] if counts else 1
    return {n: right / n_images for n, right, _ in counts}


def final(run: Findings) -> float:
    """Accuracy at the end, on the whole test set."""
    return list(whole(run).values())[-1]


def average(run: Findings) -> float:
    """Mean over all evaluations on the whole test set."""
    values = list(whole(run).values())
    return math.fsum(values) / len(values)


def named(run: Findings) -> float:
    """The share of replayed patterns that the network named rightly as a task began, mean over tasks."""
    shares = [ended["losses"]["named"] for ended in run.ended if "named" in ended["losses"]]
    return math.fsum(shares) / len(shares) if shares else math.nan


def _counts(run: Findings) -> Iterator[tuple[int, int, int]]:
    """Tasks learned, right answers and images, for each evaluation after a task."""
    for scored in run.record.scores():
        if scored["batch"] is None:
            yield scored["task"] + 1, sum(scored["correct"]), sum(scored["total"])
