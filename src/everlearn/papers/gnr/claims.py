"""Metrics of the paper: accuracy over all test images, and the quality of replayed activations.

No learner can predict a class that it has not seen yet, so all images of such classes count as errors.
Accuracy on the full test set therefore follows from the counts on the growing one, as long as every test
image of the classes seen is evaluated; the settings in `scales` ensure that.
"""

import math
from collections.abc import Iterator, Mapping

from everlearn.evaluation.formatting import format_score
from everlearn.evaluation.intervals import Curve
from everlearn.papers.claims import Metric
from everlearn.papers.experiment import Check, Groups, Verdict
from everlearn.reports.run_results import RunResults


def growing(run: RunResults) -> Curve:
    """Accuracy on all test images of the classes seen so far."""
    return {n: right / total for n, right, total in _counts(run)}


def full(run: RunResults) -> Curve:
    """Accuracy on all test images of the classes of the whole run."""
    counts = list(_counts(run))
    n_images = counts[-1][2] if counts else 1
    return {n: right / n_images for n, right, _ in counts}


def _counts(run: RunResults) -> Iterator[tuple[int, int, int]]:
    """Number of tasks learned, correct predictions and images at each evaluation after a task."""
    for scored in run.record.scores():
        if scored["n_batches"] is None:
            yield scored["task"] + 1, sum(scored["n_correct"]), sum(scored["n_images"])


def _average(run: RunResults) -> float:
    values = list(full(run).values())
    return math.fsum(values) / len(values)


def _replay_accuracy(run: RunResults) -> float:
    losses = [ended["losses"] for ended in run.ended]
    accuracies = [each["replay_accuracy"] for each in losses if "replay_accuracy" in each]
    return math.fsum(accuracies) / len(accuracies) if accuracies else math.nan


FINAL = Metric("final accuracy", lambda run: list(full(run).values())[-1])
AVERAGE = Metric("average accuracy", _average)
REPLAY_ACCURACY = Metric("accuracy on replayed activations", _replay_accuracy)
"""Share of replayed activations that the network classifies correctly when a task begins, mean over tasks."""


def crosses(positive: Mapping[str, str], negative: Mapping[str, str]) -> Check:
    """Positive replay is better at the first level of quality, negative replay at the last.

    Args:
        positive: series of positive replay by the quality of their activations, the best first.
        negative: the same for negative replay.
    """

    def check(groups: Groups) -> Verdict:
        gaps = {
            level: FINAL.difference(groups[negative[level]], groups[positive[level]]) for level in positive
        }
        first, *_, last = gaps.values()
        observed = ", ".join(f"{level} {format_score(gap)}" for level, gap in gaps.items())
        holds = first is not None and last is not None and first.mean < 0 < last.low
        return Verdict(holds, f"negative minus positive: {observed}")

    return check
